// SPDX-License-Identifier: MIT
//
// `batchfeed plan`: what each rank will read, and how well it is shuffled,
// known from metadata before any data is read.
#include <batchfeed/reader.h>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "plan_measures.h"
#include "run_options.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct PlanArguments {
  CorpusArguments corpus;
  std::uint64_t workers = 1, epoch = 0;
  RunOptions run;
  bool json = false;
};

constexpr std::uint64_t kAllMinibatches = ~0ull;
constexpr std::uint64_t kMostRanks = 65536;

struct Measured {
  std::vector<RankLoad> loads;
  ShuffleQuality quality;
  Cells cells;
  std::uint64_t memory = 0;           // the most bytes that a run with these options needs
  std::vector<std::uint64_t> shares;  // of a mixture's corpora
};

std::string verdict(const ShuffleQuality& quality, const OrderOptions& order) {
  if (order.kind == OrderKind::file) return "not shuffled: items come as they stand in the file";
  if (quality.displacement > 0.9 && quality.spread > 0.9) return "as good as a full shuffle";
  if (quality.spread < 0.5)
    return "weak: neighbours in the file stay close; a larger --window-chunks or smaller chunks mix better";
  return "fair: a larger --window-chunks mixes better";
}

std::string padding_text(const Cells& cells, const ReaderOptions& options) {
  std::string out = fmt::format("padding: {:.1f} % of the cells of minibatches padded to their longest sequence",
                                100 * cells.padding());
  if (cells.unbucketed) {
    out += fmt::format("; {:.1f} % without bucketing, {:.0f} % of it saved",
                       100 * Cells::part(cells.samples, *cells.unbucketed), 100 * cells.saved());
  } else if (cells.padding() > 0.2 && options.pack.kind == Packing::sequences) {
    out += "; --bucket-minibatches 16 saves most of it";
  }
  return out + "\n";
}

std::string text(const Reader& reader, const Measured& m, const PlanArguments& a) {
  std::string out = fmt::format("epoch {}: {} and {} in {}\n\n", a.epoch, plural(reader.num_sequences(), "sequence"),
                                plural(reader.num_samples(), "sample"),
                                m.shares.empty() ? "a sweep" : fmt::format("{} corpora", m.shares.size()));
  Table table({"rank", "minibatches", "without data", "sequences", "samples", "chunks"});
  for (std::size_t rank = 0; rank < m.loads.size(); ++rank) {
    const RankLoad& load = m.loads[rank];
    table.row({std::to_string(rank), count_text(load.minibatches), count_text(load.empty), count_text(load.sequences),
               count_text(load.samples), count_text(load.chunks)});
  }
  out += table.text();
  if (m.loads.size() > 1)
    out += fmt::format("\nunevenness: the busiest rank has {:.1f} % more samples than a fair share\n",
                       100 * unevenness(m.loads));
  out += fmt::format("{}memory: chunks of up to {}, as the files have them, on each rank\n",
                     m.loads.size() > 1 ? "" : "\n", bytes_text(m.memory));
  out += padding_text(m.cells, reader.options());
  for (std::size_t i = 0; i < m.shares.size(); ++i) {
    out += fmt::format("{}{}: {:.1f} % of the samples\n", i == 0 ? "mixture: " : "         ",
                       printable(a.corpus.files[i], kPathLength),
                       100 * static_cast<double>(m.shares[i]) / static_cast<double>(m.cells.samples));
  }
  out += fmt::format(
      "shuffle: items move {:.0f} % as far as in a full shuffle, neighbours lie {:.0f} % as far apart\n         {}\n",
      100 * m.quality.displacement, 100 * m.quality.spread, verdict(m.quality, reader.options().order));
  return out;
}

ordered_json json(const Reader& reader, const Measured& m, const PlanArguments& a) {
  ordered_json out;
  out["epoch"] = a.epoch;
  out["sequences"] = reader.num_sequences();
  out["samples"] = reader.num_samples();
  out["ranks"] = ordered_json::array();
  for (std::size_t rank = 0; rank < m.loads.size(); ++rank) {
    const RankLoad& load = m.loads[rank];
    out["ranks"].push_back({{"rank", rank},
                            {"minibatches", load.minibatches},
                            {"without_data", load.empty},
                            {"sequences", load.sequences},
                            {"samples", load.samples},
                            {"chunks", load.chunks}});
  }
  out["unevenness"] = unevenness(m.loads);
  out["memory_bytes"] = m.memory;
  out["padding"] = {{"samples", m.cells.samples},
                    {"cells", m.cells.cells},
                    {"unbucketed", m.cells.unbucketed ? ordered_json(*m.cells.unbucketed) : ordered_json()},
                    {"saved", m.cells.saved()}};
  out["mixture"] = ordered_json::array();
  for (std::size_t i = 0; i < m.shares.size(); ++i)
    out["mixture"].push_back({{"file", a.corpus.files[i]}, {"samples", m.shares[i]}});
  out["shuffle"] = {{"displacement", m.quality.displacement},
                    {"spread", m.quality.spread},
                    {"verdict", verdict(m.quality, reader.options().order)}};
  return out;
}

// Measures what each rank reads, and how well all together are shuffled and padded.
void measure(Reader& reader, std::uint64_t workers, Measured& m) {
  for (std::uint64_t rank = 0; rank < workers; ++rank) {
    reader.set_workers(workers, rank);
    LoadMeasure load;
    reader.plan(kAllMinibatches, [&](const BatchPlan& plan) { load.add(plan); });
    m.loads.push_back(load.load());
  }
  reader.set_workers(1, 0);
  ShuffleMeasure shuffle;
  CellsMeasure cells;
  m.shares.resize(reader.options().mix_weights.size());
  reader.plan(kAllMinibatches, [&](const BatchPlan& plan) {
    shuffle.add(plan);
    cells.add(plan);
    if (m.shares.empty()) return;
    for (const BatchPlan::Item& item : plan.items) m.shares[item.corpus] += item.samples;
  });
  m.quality = shuffle.quality();
  m.cells = cells.cells();
}

int run_plan(const PlanArguments& a, Console& console) {
  if (a.workers == 0) throw UsageError("--workers: at least 1");
  if (a.workers > kMostRanks)
    throw UsageError(fmt::format("--workers: at most {}, each of which is listed", kMostRanks));
  Corpus corpus = load_corpus(a.corpus, console);
  ReaderOptions& options = corpus.setup.reader;
  a.run.apply(corpus, options);
  RunOptions::set_epoch(corpus, options);
  options.start_epoch = a.epoch;
  options.workers = a.workers;
  const auto corpora = open_corpora(corpus.setup);
  Measured m;
  m.memory = Reader(corpora, options, corpus.setup.limits).memory_needed();
  if (options.memory_limit != 0 && m.memory > options.memory_limit) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.memory",
                      .what = fmt::format("the chunks needed at once may take {}, memory_limit is {}",
                                          plural(m.memory, "byte"), options.memory_limit),
                      .hint = "lower the window, `randomizationWindow`, or the chunk size, or raise `memory_limit`"});
  }
  options.prefetch = false;  // planning reads no data
  Reader reader(corpora, options, corpus.setup.limits, corpus.setup.report);
  console.clear_progress();
  measure(reader, a.workers, m);
  if (options.bucket_minibatches != 0) {
    ReaderOptions plain = options;
    plain.bucket_minibatches = 0;
    plain.workers = 1;
    m.cells.unbucketed = cells_of(Reader(corpora, plain, corpus.setup.limits)).cells;
  }
  return put_text(a.json ? dump(json(reader, m, a), 2) + "\n" : text(reader, m, a));
}

}  // namespace

Run add_plan(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command = add_command(app, "plan", "What each rank will read, its memory, and how good the shuffle is",
                                  "batchfeed plan train.cntk --workers 4\n"
                                  "batchfeed plan train.cntk --window-chunks 8       # is a small window enough?\n"
                                  "batchfeed plan train.cntk --bucket-minibatches 16 # how much padding does it save?\n"
                                  "batchfeed plan train.ctf --order uniform --json");
  arguments->corpus.add_to(command, true);
  arguments->run.add_to(command);
  command.add_option("--workers", arguments->workers, "Number of workers (default 1)")->type_name("N");
  command.add_option("--epoch", arguments->epoch, "Which epoch (default 0)")->type_name("N");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_plan(*arguments, console); };
}

}  // namespace batchfeed::cli
