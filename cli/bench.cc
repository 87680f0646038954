// SPDX-License-Identifier: MIT
//
// `batchfeed bench`: where the time goes, compared with the limits of the machine.
#include <batchfeed/bench.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench_text.h"
#include "command.h"
#include "corpus.h"
#include "jsonl.h"
#include "run_options.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct BenchArguments {
  CorpusArguments corpus;
  RunOptions run;
  std::string other;
  double consumer_ms = 0;
  bool json = false;
};

constexpr double kDayMs = 24 * 3600 * 1e3;
constexpr std::uint64_t kLimitBytes = 256ull << 20;  // of the corpus, to measure the limits on

std::vector<std::string> files_of(const Setup& setup) {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<std::string>& names) {
    if (names.empty()) return;
    const std::vector<std::string> files = expand_files(names, setup.file_system, setup.limits);
    out.insert(out.end(), files.begin(), files.end());
  };
  std::vector<SourceOptions> sources = setup.sources;
  for (const auto& corpus : setup.mix) sources.insert(sources.end(), corpus.begin(), corpus.end());
  for (const SourceOptions& source : sources) {
    if (const auto* ctf = std::get_if<CtfOptions>(&source)) add(ctf->files);
    if (const auto* cbf = std::get_if<CbfOptions>(&source)) add(cbf->files);
    if (const auto* htk = std::get_if<HtkOptions>(&source)) add(htk->files);
    if (const auto* mlf = std::get_if<MlfOptions>(&source); mlf != nullptr && sources.size() == 1) add(mlf->files);
  }
  // The archives that a list names are known only when the corpus is open.
  if (!out.empty()) return out;
  const std::shared_ptr<const Source> corpus = open_corpora(setup).front();
  return corpus->chunks().empty() ? out : std::vector<std::string>{corpus->place(0, 0).file};
}

bool reads_text(const Setup& setup) {
  const auto& sources = setup.mix.empty() ? setup.sources : setup.mix.front();
  return !sources.empty() && std::holds_alternative<CtfOptions>(sources.front());
}

Measured measure(const BenchArguments& a, const CorpusArguments& arguments, Console& console) {
  Corpus corpus = load_corpus(arguments, console);
  a.run.apply(corpus, corpus.setup.reader);
  RunOptions::set_epoch(corpus, corpus.setup.reader);
  Measured m;
  m.file = arguments.files.front();
  m.text = reads_text(corpus.setup);
  m.limits = measure_limits(files_of(corpus.setup), kLimitBytes);
  EpochHooks hooks;
  if (a.consumer_ms > 0) {
    hooks.consume = [&](const Minibatch&) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(a.consumer_ms));
    };
  }
  m.times = time_epoch(corpus.setup, hooks);
  m.times.fastest_read = m.limits.compressed ? 0 : m.limits.read;
  console.clear_progress();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  m.peak_memory = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return m;
}

int run_bench(const BenchArguments& a, Console& console) {
  if (!(a.consumer_ms >= 0 && a.consumer_ms <= kDayMs))  // a sleep of NaN, or out of range, would not wait at all
    throw UsageError("--consumer-ms: expected a time of at least 0, and at most 86400000, a day");
  if (!a.other.empty() && !a.corpus.mix_weights.empty()) throw UsageError("--compare does not go with --mix-weights");
  std::vector<CorpusArguments> corpora{a.corpus};
  if (!a.other.empty()) {
    corpora.emplace_back(a.corpus).files = {a.other};
    for_configurations_alone(corpora);
  }
  const Measured first = measure(a, corpora.front(), console);
  std::optional<Measured> other;
  if (!a.other.empty()) other = measure(a, corpora.back(), console);
  Output output;
  if (a.json) {
    ordered_json out = bench_json(first);
    out["compare"] = nullptr;
    if (other) {
      out["compare"] = bench_json(*other);
      out["compare"]["speedup"] = speedup(first, *other);
    }
    output.append(dump(out, 2) + "\n");
  } else {
    if (other) output.append(printable(first.file, kPathLength) + "\n");
    output.append(bench_text(first));
    if (other)
      output.append("\n" + printable(other->file, kPathLength) + "\n" + bench_text(*other) + "\n" +
                    compared_text(first, *other));
  }
  output.flush();
  return kDone;
}

}  // namespace

Run add_bench(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App& command =
      add_command(app, "bench", "Where the time of an epoch goes, against what the machine can do",
                  "batchfeed bench train.cntk\n"
                  "batchfeed bench train.ctf --minibatch-size 1024 --threads 1\n"
                  "batchfeed bench train.ctf --compare train.cbf       # what does converting bring?\n"
                  "batchfeed bench train.cntk --consumer-ms 12         # fast enough for a step of 12 ms?\n"
                  "batchfeed bench train.cntk --json | jq .verdict");
  arguments->corpus.add_to(command, true);
  arguments->run.add_to(command);
  command.add_option("--compare", arguments->other, "Measure this one too, and set them side by side")
      ->type_name("CONFIG|FILE");
  command
      .add_option("--consumer-ms", arguments->consumer_ms,
                  "Hold every minibatch for this long, as a training step would (default 0)")
      ->type_name("MS");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_bench(*arguments, console); };
}

}  // namespace batchfeed::cli
