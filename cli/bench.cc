// SPDX-License-Identifier: MIT
//
// `batchfeed bench`: where the time goes, against what the machine can do.
#include <batchfeed/reader.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "limits.h"
#include "run_options.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct BenchArguments {
  CorpusArguments corpus;
  RunOptions run;
  bool json = false;
};

constexpr std::uint64_t kLimitBytes = 256ull << 20;  // of the corpus, for the limits
constexpr double kClose = 0.7;                       // of a limit counts as reached

struct Stage {
  double seconds = 0, cpu = 0;
};

struct Measured {
  std::uint64_t bytes = 0, chunks = 0, samples = 0, sequences = 0, minibatches = 0, peak_memory = 0;
  unsigned cores = 1;
  Stage index, parse, epoch;
  MachineLimits limits;

  double rate(const Stage& stage) const { return stage.seconds > 0 ? static_cast<double>(bytes) / stage.seconds : 0; }
  double busy() const { return epoch.seconds > 0 ? epoch.cpu / epoch.seconds : 0; }
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class Work>
Stage timed(const Work& work) {
  const double cpu = cpu_seconds();
  const auto began = std::chrono::steady_clock::now();
  work();
  return {.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
          .cpu = cpu_seconds() - cpu};
}

std::vector<std::string> files_of(const Setup& setup) {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<std::string>& files) { out.insert(out.end(), files.begin(), files.end()); };
  std::vector<SourceOptions> sources = setup.sources;
  for (const auto& corpus : setup.mix) sources.insert(sources.end(), corpus.begin(), corpus.end());
  for (const SourceOptions& source : sources) {
    if (const auto* ctf = std::get_if<CtfOptions>(&source)) add(ctf->files);
    if (const auto* cbf = std::get_if<CbfOptions>(&source)) add(cbf->files);
    if (const auto* htk = std::get_if<HtkOptions>(&source)) add(htk->files);
    if (const auto* mlf = std::get_if<MlfOptions>(&source); mlf != nullptr && sources.size() == 1) add(mlf->files);
  }
  return out;
}

bool reads_text(const Setup& setup) {
  const auto& sources = setup.mix.empty() ? setup.sources : setup.mix.front();
  return !sources.empty() && std::holds_alternative<CtfOptions>(sources.front());
}

void parse_all(const Source& source) {
  Chunk chunk;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    if (interrupt::pending()) throw interrupt::Interrupted{};
    source.read(c, chunk);
  }
}

Measured measure(const Corpus& corpus, Console& console) {
  Measured m;
  m.cores = std::max(1u, std::thread::hardware_concurrency());
  m.limits = measure_limits(files_of(corpus.setup), kLimitBytes);
  std::vector<std::shared_ptr<const Source>> corpora;
  m.index = timed([&] { corpora = open_corpora(corpus.setup); });
  // Archives that a list names are known when it has been read.
  if (files_of(corpus.setup).empty() && !corpora.front()->chunks().empty())
    m.limits = measure_limits({corpora.front()->place(0, 0).file}, kLimitBytes);
  console.clear_progress();
  for (const auto& source : corpora) {
    m.chunks += source->chunks().size();
    for (const ChunkInfo& chunk : source->chunks()) {
      m.bytes += chunk.bytes;
      m.samples += chunk.samples;
      m.sequences += chunk.sequences;
    }
  }
  m.parse = timed([&] {
    for (const auto& source : corpora) parse_all(*source);
  });
  Reader reader(corpora, corpus.setup.reader, corpus.setup.limits, corpus.setup.report);
  m.epoch = timed([&] {
    while (reader.next()) {
      if (interrupt::pending()) throw interrupt::Interrupted{};
      ++m.minibatches;
    }
  });
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  m.peak_memory = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return m;
}

// One sentence: what bounds an epoch, and what would help.
std::string verdict(const Measured& m, bool text) {
  const double busy = m.busy();
  const double epoch = m.rate(m.epoch), parse = m.rate(m.parse);
  if (m.bytes < (4u << 20)) return "too small a corpus to tell: an epoch is over before anything can be measured";
  if (m.limits.read > 0 && epoch > kClose * m.limits.read)
    return "disk-bound: it is read nearly as fast as the files can be";
  // As long as parsing takes, spread over as many threads as have a chunk to read.
  const double parsing =
      m.parse.seconds / static_cast<double>(std::min<std::uint64_t>(m.cores, std::max<std::uint64_t>(1, m.chunks)));
  if (parsing > 0.6 * m.epoch.seconds && parse > 0) {
    return fmt::format("parse-bound: {:.1f} of {} cores busy; {}", busy, m.cores,
                       m.chunks < 2 * m.cores
                           ? fmt::format("with only {} they cannot share the work: a smaller chunkSizeInBytes helps",
                                         plural(m.chunks, "chunk"))
                       : text ? "the binary format would save the parsing (batchfeed convert)"
                              : "more cores would help");
  }
  if (busy < 0.6)
    return fmt::format("waiting: only {:.1f} of {} cores busy; the disk is slower than the first reading suggests",
                       busy, m.cores);
  return fmt::format(
      "pack-bound: {:.1f} of {} cores busy, one of them makes the minibatches; larger minibatches or fewer, larger "
      "chunks help",
      busy, m.cores);
}

std::string rate_text(double rate) { return rate > 0 ? bytes_text(static_cast<std::uint64_t>(rate)) + "/s" : "-"; }
std::string part_text(double rate, double limit) {
  return limit > 0 && rate > 0 ? fmt::format("{:.0f} %", 100 * rate / limit) : "-";
}

std::string text_report(const Measured& m, bool text) {
  std::string out =
      fmt::format("{} in {}, {}; {} minibatches an epoch, {} cores\n\n", plural(m.samples, "sample"),
                  plural(m.sequences, "sequence"), bytes_text(m.bytes), count_text(m.minibatches), m.cores);
  Table stages({"stage", "time", "rate", "of pread", "cores busy"});
  const auto row = [&](const char* what, const Stage& s) {
    stages.row({what, seconds_text(s.seconds), rate_text(m.rate(s)), part_text(m.rate(s), m.limits.read),
                fmt::format("{:.1f}", s.seconds > 0 ? s.cpu / s.seconds : 0)});
  };
  row("index", m.index);
  row("parse, 1 thread", m.parse);
  row("whole epoch", m.epoch);
  out += stages.text() + "\n";
  Table limits({"limit, 1 thread", "rate"});
  limits.row({"pread", rate_text(m.limits.read)});
  limits.row({"newline scan", rate_text(m.limits.newline)});
  limits.row({"bare fast_float loop", rate_text(m.limits.number)});
  limits.row({"memcpy", rate_text(m.limits.copy)});
  out += limits.text();
  out += fmt::format(
      "\n  {} samples/s, peak memory {}\n  {}\n",
      count_text(static_cast<std::uint64_t>(static_cast<double>(m.samples) / std::max(m.epoch.seconds, 1e-9))),
      bytes_text(m.peak_memory), verdict(m, text));
  return out;
}

ordered_json json_report(const Measured& m, bool text) {
  const auto stage = [&](const Stage& s) {
    return ordered_json{{"seconds", s.seconds}, {"cpu_seconds", s.cpu}, {"bytes_per_second", m.rate(s)}};
  };
  return {{"bytes", m.bytes},
          {"samples", m.samples},
          {"sequences", m.sequences},
          {"minibatches", m.minibatches},
          {"cores", m.cores},
          {"index", stage(m.index)},
          {"parse", stage(m.parse)},
          {"epoch", stage(m.epoch)},
          {"samples_per_second", static_cast<double>(m.samples) / std::max(m.epoch.seconds, 1e-9)},
          {"peak_memory_bytes", m.peak_memory},
          {"limits",
           {{"pread", m.limits.read},
            {"newline_scan", m.limits.newline},
            {"bare_numbers", m.limits.number},
            {"memcpy", m.limits.copy}}},
          {"verdict", verdict(m, text)}};
}

int run_bench(const BenchArguments& a, Console& console) {
  Corpus corpus = load_corpus(a.corpus, console);
  a.run.apply(corpus, corpus.setup.reader);
  interrupt::deferred(true);
  const Measured measured = measure(corpus, console);
  const bool text = reads_text(corpus.setup);
  Output output;
  output.append(a.json ? dump(json_report(measured, text), 2) + "\n" : text_report(measured, text));
  output.flush();
  return kDone;
}

}  // namespace

Run add_bench(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App& command = add_command(app, "bench", "Where the time of an epoch goes, against what the machine can do",
                                  "batchfeed bench train.cntk\n"
                                  "batchfeed bench train.ctf --minibatch-size 1024 --threads 1\n"
                                  "batchfeed bench train.cntk --json | jq .verdict");
  arguments->corpus.add_to(command, true);
  arguments->run.add_to(command);
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_bench(*arguments, console); };
}

}  // namespace batchfeed::cli
