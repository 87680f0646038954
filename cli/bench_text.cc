// SPDX-License-Identifier: MIT
#include "bench_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string rate_text(double rate) { return rate > 0 ? bytes_text(static_cast<std::uint64_t>(rate)) + "/s" : "-"; }

std::string percent_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", percent(part, whole)) : "-";
}

double cores_busy(const EpochTimes& t) { return t.seconds > 0 ? t.cpu / t.seconds : 0; }

std::string parse_bound(const Measured& m) {
  const EpochTimes& t = m.times;
  const std::string seen = fmt::format("parse-bound: {:.1f} of {} cores busy, {} of the work is {}", cores_busy(t),
                                       t.cores, percent_text(t.reading_cpu, t.cpu),
                                       m.limits.compressed ? "unpacking and parsing"
                                       : m.text            ? "parsing"
                                                           : "decoding");
  if (t.parts() < t.threads) {
    return fmt::format("{}; {} cannot keep {} busy: a smaller chunkSizeInBytes helps", seen, plural(t.chunks, "chunk"),
                       plural(t.threads, "thread"));
  }
  if (m.text) {
    // An upper bound of the gain: as if parsing took no time at all.
    const double left = std::max(packing_cpu(t), m.limits.copy > 0 ? static_cast<double>(t.bytes) / m.limits.copy : 0);
    const double most = t.seconds / std::max(left, 1e-9);
    return fmt::format("{}; the binary format saves most of it (batchfeed convert){}", seen,
                       most > 1.5 ? fmt::format(", for up to {:.0f} times the speed", most) : "");
  }
  if (t.threads < t.cores) return fmt::format("{}; more --threads help", seen);
  return seen + (m.limits.compressed ? "; uncompressed files or more cores help" : "; more cores help");
}

std::string disk_bound(const Measured& m) {
  const EpochTimes& t = m.times;
  if (t.disk_wait > 0.5 * t.reading) {
    return fmt::format("disk-bound: {} of the reading is waiting for files; a faster disk, {}or more --threads help",
                       percent_text(t.disk_wait, t.reading),
                       m.limits.compressed ? "" : "fewer bytes (batchfeed convert, to .zst) ");
  }
  return fmt::format("disk-bound: it is read at {} of what the files give when nothing else is done",
                     percent_text(Measured::rate(t.seconds, t.bytes), m.limits.read));
}

std::string stages_text(const Measured& m) {
  const EpochTimes& t = m.times;
  Table stages({"stage", "time", "rate", "of pread", "cores busy"});
  const auto stage = [&](const char* what, double seconds, double cpu, std::uint64_t bytes, bool all_read) {
    stages.row({what, seconds_text(seconds), all_read ? rate_text(Measured::rate(seconds, bytes)) : "-",
                all_read ? percent_text(Measured::rate(seconds, bytes), m.limits.read) : "-",
                fmt::format("{:.1f}", seconds > 0 ? cpu / seconds : 0)});
  };
  // A rate only if opening read the data, and not just headers and lists. (Of compressed files fewer bytes are read
  // than the corpus has.)
  const bool looked_through = t.index_read == 0 || m.limits.compressed || t.index_read > t.corpus_bytes / 2;
  stage("index", t.index, t.index_cpu, t.corpus_bytes, looked_through);
  stage("whole epoch", t.seconds, t.cpu, t.bytes, true);
  return stages.text();
}

std::string work_text(const Measured& m) {
  const EpochTimes& t = m.times;
  Table work({"the epoch's work", "processor", "of it"});
  const auto part = [&](const char* what, double cpu) {
    work.row({what, seconds_text(cpu), percent_text(cpu, t.cpu)});
  };
  const double handling = std::min(t.small_chunks_cpu, packing_cpu(t));
  part(m.limits.compressed ? "unpack and parse" : "parse",
       std::max(0.0, t.reading_cpu - t.join_cpu - t.small_chunks_read_cpu));
  if (t.join_cpu > 0.01 * t.cpu) part("join", t.join_cpu);
  part("order", std::min(t.order_cpu, packing_cpu(t) - handling));
  if (t.small_chunks_cpu > 0) part("handle small chunks", handling + t.small_chunks_read_cpu);
  part("pack", std::max(0.0, packing_cpu(t) - handling - t.order_cpu));
  if (t.consuming_cpu > 0.001 * t.cpu) part("consumer", t.consuming_cpu);
  return work.text();
}

std::string waits_text(const EpochTimes& t) {
  Table waits({"the epoch's waits, all threads", "time"});
  waits.row({"for files", seconds_text(t.disk_wait)});
  waits.row({"for a core", seconds_text(t.core_wait)});
  waits.row({"for the consumer", seconds_text(t.consuming)});
  return waits.text();
}

std::string limits_text(const Measured& m) {
  Table limits({"limit, 1 thread", "rate"});
  limits.row({"pread", rate_text(m.limits.read)});
  limits.row({"pread, first time", rate_text(m.limits.first)});
  limits.row({"newline scan", rate_text(m.limits.newline)});
  limits.row({"bare fast_float loop", rate_text(m.limits.number)});
  limits.row({"memcpy", rate_text(m.limits.copy)});
  return limits.text();
}

}  // namespace

double Measured::samples_per_second() const {
  return static_cast<double>(times.samples) / std::max(times.seconds, 1e-9);
}

double Measured::rate(double seconds, std::uint64_t bytes) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

std::string verdict(const Measured& m) {
  const EpochTimes& t = m.times;
  switch (judge(t)) {
    case Bound::unknown:
      return fmt::format(
          "too small a corpus to tell what bounds it: an epoch is read in {}, which hardly holds up training",
          seconds_text(t.seconds));
    case Bound::consumer:
      return fmt::format(
          "consumer-bound: {} of the time the minibatches are in the consumer's hands; reading is fast "
          "enough",
          percent_text(t.consuming, t.seconds));
    case Bound::machine: {
      EpochTimes alone = t;
      alone.core_wait = 0;
      const Bound bound = judge(alone);
      return fmt::format(
          "machine-bound: others have the cores, {:.1f} of {} were to be had where {:.1f} could have been used; "
          "measure again when the machine is idle (with the machine to itself: {}-bound, by the processor time{})",
          cores_busy(t), t.cores, std::min<double>(t.cores, (t.cpu + t.core_wait) / t.seconds), name(bound),
          bound == Bound::parse && m.text ? "; the binary format saves most of it: batchfeed convert" : "");
    }
    case Bound::disk: return disk_bound(m);
    case Bound::window:
      return fmt::format(
          "window-bound: the window holds {} of the corpus, so the consumer waits {} for the first minibatch, and "
          "reading waits afterwards; a smaller --window-chunks lets both go on side by side",
          percent_text(t.window, 1), seconds_text(t.first));
    case Bound::chunk:
      return fmt::format(
          "chunk-bound: {} of {} each cost more than their data, {} of the work; larger chunks help "
          "(chunkSizeInBytes, batchfeed convert --chunk-size)",
          plural(t.chunks, "chunk"), bytes_text(t.bytes / t.chunks),
          percent_text(t.small_chunks_cpu + t.small_chunks_read_cpu, t.cpu));
    case Bound::parse: return parse_bound(m);
    case Bound::pack: break;
  }
  return fmt::format(
      "pack-bound: {:.1f} of {} cores busy, most of it with making minibatches; larger minibatches or fewer streams "
      "(--streams of batchfeed convert) help",
      cores_busy(t), t.cores);
}

std::string bench_text(const Measured& m) {
  const EpochTimes& t = m.times;
  std::string out =
      fmt::format("{} in {}, {}, {}; {} an epoch; {}, {}\n\n", plural(t.samples, "sample"),
                  plural(t.sequences, "sequence"), plural(t.chunks, "chunk"), bytes_text(t.bytes),
                  plural(t.minibatches, "minibatch"), plural(t.cores, "core"), plural(t.threads, "thread"));
  out += stages_text(m);
  out += fmt::format("  the first minibatch is there after {}\n\n", seconds_text(t.first));
  out += work_text(m) + "\n" + waits_text(t) + "\n" + limits_text(m);
  out += fmt::format("\n  {} samples/s, peak memory {}\n  {}\n",
                     count_text(static_cast<std::uint64_t>(m.samples_per_second())), bytes_text(m.peak_memory),
                     verdict(m));
  if (m.limits.first > 0 && m.limits.first < 0.5 * Measured::rate(t.seconds, t.bytes)) {
    out += fmt::format("  files that are not in memory yet came at {} only: the first epoch goes no faster\n",
                       rate_text(m.limits.first));
  }
  return out;
}

ordered_json bench_json(const Measured& m) {
  const EpochTimes& t = m.times;
  const auto stage = [&](double seconds, double cpu, std::uint64_t bytes) {
    return ordered_json{
        {"seconds", seconds}, {"cpu_seconds", cpu}, {"bytes_per_second", Measured::rate(seconds, bytes)}};
  };
  return {{"file", m.file},
          {"bytes", t.bytes},
          {"samples", t.samples},
          {"sequences", t.sequences},
          {"chunks", t.chunks},
          {"parts", t.parts()},
          {"minibatches", t.minibatches},
          {"cores", t.cores},
          {"threads", t.threads},
          {"window", t.window},
          {"index", stage(t.index, t.index_cpu, t.corpus_bytes)},
          {"epoch", stage(t.seconds, t.cpu, t.bytes)},
          {"first_minibatch_seconds", t.first},
          {"work",
           {{"read", t.reading_cpu},
            {"join", t.join_cpu},
            {"order", t.order_cpu},
            {"small_chunks", t.small_chunks_cpu + t.small_chunks_read_cpu},
            {"pack", packing_cpu(t)},
            {"consumer", t.consuming_cpu}}},
          {"waits", {{"files", t.disk_wait}, {"core", t.core_wait}, {"consumer", t.consuming}}},
          {"samples_per_second", m.samples_per_second()},
          {"peak_memory_bytes", m.peak_memory},
          {"limits",
           {{"pread", m.limits.read},
            {"pread_first", m.limits.first},
            {"newline_scan", m.limits.newline},
            {"bare_numbers", m.limits.number},
            {"memcpy", m.limits.copy}}},
          {"bound", name(judge(t))},
          {"verdict", verdict(m)}};
}

double speedup(const Measured& first, const Measured& other) {
  return other.samples_per_second() / std::max(first.samples_per_second(), 1e-9);
}

std::string compared_text(const Measured& first, const Measured& other) {
  Table table({"", "epoch", "samples/s", "processor", "bytes", "bound"});
  for (const Measured* m : {&first, &other}) {
    table.row({printable(m->file), seconds_text(m->times.seconds),
               count_text(static_cast<std::uint64_t>(m->samples_per_second())), seconds_text(m->times.cpu),
               bytes_text(m->times.bytes), std::string(name(judge(m->times)))});
  }
  std::string out = fmt::format("{}\n  {} gives {:.2g} times the samples a second of {}\n", table.text(),
                                printable(other.file), speedup(first, other), printable(first.file));
  if (first.times.samples != other.times.samples) {
    out += fmt::format("  they are not the same corpus: {} and {}\n", plural(first.times.samples, "sample"),
                       plural(other.times.samples, "sample"));
  }
  return out;
}

}  // namespace batchfeed::cli
