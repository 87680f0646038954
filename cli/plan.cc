// SPDX-License-Identifier: MIT
//
// `batchfeed plan`: what each rank will read, and how well it is shuffled,
// known from metadata before any data is read.
#include <batchfeed/reader.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct PlanArguments {
  CorpusArguments corpus;
  std::uint64_t workers = 1, epoch = 0;
  std::vector<std::uint64_t> minibatch_size;
  bool json = false;
};

struct RankLoad {
  std::uint64_t minibatches = 0, empty = 0, sequences = 0, samples = 0, chunks = 0;
};

// How far items move from their place in the file, and how far apart in the
// file those are that come one after the other; both as parts of what a shuffle
// of the whole corpus gives (1 = as good, 0 = not shuffled).
struct ShuffleQuality {
  double displacement = 0, spread = 0;
};

constexpr std::uint64_t kAllMinibatches = ~0ull;

RankLoad load_of(const std::vector<BatchPlan>& plans) {
  RankLoad load;
  std::vector<std::uint32_t> chunks;
  for (const BatchPlan& plan : plans) {
    ++load.minibatches;
    if (plan.items.empty()) ++load.empty;
    load.sequences += plan.items.size();
    for (const BatchPlan::Item& item : plan.items) {
      load.samples += item.samples;
      if (chunks.empty() || chunks.back() != item.chunk) chunks.push_back(item.chunk);
    }
  }
  std::sort(chunks.begin(), chunks.end());
  load.chunks = static_cast<std::uint64_t>(std::unique(chunks.begin(), chunks.end()) - chunks.begin());
  return load;
}

ShuffleQuality quality_of(const std::vector<BatchPlan>& plans) {
  struct Place {
    std::uint64_t file, frame;
    bool operator<(const Place& other) const { return file != other.file ? file < other.file : frame < other.frame; }
  };
  std::vector<std::pair<Place, std::uint64_t>> order;  // place in the file, place in the epoch
  for (const BatchPlan& plan : plans) {
    for (const BatchPlan::Item& item : plan.items) {
      order.push_back(
          {{static_cast<std::uint64_t>(item.chunk) << 32 | item.row, item.frame.value_or(0)}, order.size()});
    }
    if (plan.end_of_sweep) break;
  }
  const auto n = static_cast<double>(order.size());
  if (order.size() < 2) return {.displacement = 1, .spread = 1};
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint64_t> rank(order.size());  // in the file, by place in the epoch
  double moved = 0;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    rank[order[i].second] = i;
    moved += std::abs(static_cast<double>(i) - static_cast<double>(order[i].second));
  }
  double apart = 0;
  for (std::size_t i = 1; i < rank.size(); ++i)
    apart += std::abs(static_cast<double>(rank[i]) - static_cast<double>(rank[i - 1]));
  // Both are n/3 on average in a full shuffle; neighbours in an unshuffled file are 1 apart.
  const double full = n / 3;
  return {.displacement = moved / n / full, .spread = std::max(0.0, (apart / (n - 1) - 1) / full)};
}

// Largest share of the samples against a fair one; 0 = even.
double unevenness(const std::vector<RankLoad>& loads) {
  std::uint64_t most = 0, all = 0;
  for (const RankLoad& load : loads) {
    most = std::max(most, load.samples);
    all += load.samples;
  }
  if (all == 0) return 0;
  return static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(all) - 1;
}

std::string verdict(const ShuffleQuality& quality, const OrderOptions& order) {
  if (order.kind == OrderKind::file) return "not shuffled: items come as they stand in the file";
  if (quality.displacement > 0.9 && quality.spread > 0.9) return "as good as a full shuffle";
  if (quality.spread < 0.5)
    return "weak: neighbours in the file stay close; a larger --window-chunks or smaller chunks mix better";
  return "fair: a larger --window-chunks mixes better";
}

std::string text(const Reader& reader, const std::vector<RankLoad>& loads, const ShuffleQuality& quality,
                 std::uint64_t epoch) {
  std::string out = fmt::format("epoch {}: {} and {} in a sweep\n\n", epoch, plural(reader.num_sequences(), "sequence"),
                                plural(reader.num_samples(), "sample"));
  Table table({"rank", "minibatches", "without data", "sequences", "samples", "chunks"});
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const RankLoad& load = loads[rank];
    table.row({std::to_string(rank), count_text(load.minibatches), count_text(load.empty), count_text(load.sequences),
               count_text(load.samples), count_text(load.chunks)});
  }
  out += table.text();
  if (loads.size() > 1)
    out += fmt::format("\nunevenness: the busiest rank has {:.1f} % more samples than a fair share\n",
                       100 * unevenness(loads));
  out += fmt::format("{}memory: {} for the window's chunks, at most, on each rank\n", loads.size() > 1 ? "" : "\n",
                     bytes_text(reader.memory_needed()));
  out += fmt::format(
      "shuffle: items move {:.0f} % as far as in a full shuffle, neighbours lie {:.0f} % as far apart\n         {}\n",
      100 * quality.displacement, 100 * quality.spread, verdict(quality, reader.options().order));
  return out;
}

ordered_json json(const Reader& reader, const std::vector<RankLoad>& loads, const ShuffleQuality& quality,
                  std::uint64_t epoch) {
  ordered_json out;
  out["epoch"] = epoch;
  out["sequences"] = reader.num_sequences();
  out["samples"] = reader.num_samples();
  out["ranks"] = ordered_json::array();
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const RankLoad& load = loads[rank];
    out["ranks"].push_back({{"rank", rank},
                            {"minibatches", load.minibatches},
                            {"without_data", load.empty},
                            {"sequences", load.sequences},
                            {"samples", load.samples},
                            {"chunks", load.chunks}});
  }
  out["unevenness"] = unevenness(loads);
  out["memory_bytes"] = reader.memory_needed();
  out["shuffle"] = {{"displacement", quality.displacement},
                    {"spread", quality.spread},
                    {"verdict", verdict(quality, reader.options().order)}};
  return out;
}

int run_plan(const PlanArguments& a, Console& console) {
  if (a.workers == 0) throw UsageError("--workers: at least 1");
  Corpus corpus = load_corpus(a.corpus, console);
  ReaderOptions& options = corpus.setup.reader;
  if (!a.minibatch_size.empty()) {
    options.minibatch_size = a.minibatch_size;
  } else if (corpus.config && !corpus.config->minibatch_size.empty()) {
    options.minibatch_size = corpus.config->minibatch_size;
  }
  if (corpus.config && corpus.config->epoch_size) options.epoch_samples = *corpus.config->epoch_size;
  options.start_epoch = a.epoch;
  options.prefetch = false;
  options.workers = a.workers;
  Reader reader(std::move(corpus.setup));
  console.clear_progress();
  std::vector<RankLoad> loads;
  for (std::uint64_t rank = 0; rank < a.workers; ++rank) {
    reader.set_workers(a.workers, rank);
    loads.push_back(load_of(reader.plan(kAllMinibatches)));
  }
  reader.set_workers(1, 0);
  const ShuffleQuality quality = quality_of(reader.plan(kAllMinibatches));
  Output output;
  output.append(a.json ? dump(json(reader, loads, quality, a.epoch), 2) + "\n" : text(reader, loads, quality, a.epoch));
  output.flush();
  return kDone;
}

}  // namespace

Run add_plan(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command = add_command(app, "plan", "What each rank will read, its memory, and how good the shuffle is",
                                  "batchfeed plan train.cntk --workers 4\n"
                                  "batchfeed plan train.cntk --window-chunks 8       # is a small window enough?\n"
                                  "batchfeed plan train.ctf --order uniform --json");
  arguments->corpus.add_to(command, true);
  command.add_option("--workers", arguments->workers, "Number of workers (default 1)")->type_name("N");
  command
      .add_option(
          "--minibatch-size", arguments->minibatch_size,
          "Samples over all workers; a list gives one size per epoch (default: as the configuration says, or 256)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N[,N...]");
  command.add_option("--epoch", arguments->epoch, "Which epoch (default 0)")->type_name("N");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_plan(*arguments, console); };
}

}  // namespace batchfeed::cli
