// SPDX-License-Identifier: MIT
#include "report_facts.h"

#include <batchfeed/reader.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "class_names.h"
#include "look.h"

namespace batchfeed::cli {

namespace {

// The most items of a sweep that is planned: each takes 20 bytes, and 20 more where there are labels.
constexpr std::uint64_t kMostPlanned = 20'000'000;
constexpr std::uint64_t kMostFindings = 50;

// `whence`: who chose the order and the window.
std::string order_text(const ReaderOptions& options, const char* whence) {
  const OrderOptions& order = options.order;
  if (order.kind == OrderKind::file) return "file order, not shuffled";
  std::string window = order.window >= kWholeSet
                           ? "everything"
                           : fmt::format("{} {}", order.window, order.window_in_samples ? "samples" : "chunks");
  return fmt::format("order = {}, window of {}, {}", name(order.kind), window, whence);
}

// The effective number of classes: the exponential of the entropy of labels, averaged over minibatches.
class Effective {
 public:
  void add(std::uint32_t label) {
    ++counts_[label];
    ++n_;
  }
  void close() {
    if (n_ == 0) return;
    double entropy = 0;
    for (const auto& [label, count] : counts_) {
      const double p = static_cast<double>(count) / static_cast<double>(n_);
      entropy -= p * std::log(p);
    }
    sum_ += std::exp(entropy);
    ++minibatches_;
    counts_.clear();
    n_ = 0;
  }
  double mean() const { return minibatches_ == 0 ? 0 : sum_ / static_cast<double>(minibatches_); }

 private:
  std::map<std::uint32_t, std::uint64_t> counts_;
  std::uint64_t n_ = 0, minibatches_ = 0;
  double sum_ = 0;
};

// Measures Mixing over the first sweep, from one planned minibatch after the other. Measures nothing without a stream
// of labels.
class MixingMeasure {
 public:
  explicit MixingMeasure(const Survey& survey) : survey_(survey) {}

  void add(const BatchPlan& plan) {
    if (survey_.labels.empty() || swept_) return;
    for (const BatchPlan::Item& item : plan.items) {
      const std::vector<std::uint32_t>& chunk = survey_.labels[item.chunk];
      labels_.push_back(chunk.empty() ? Survey::kNoLabel : chunk[item.row]);
      places_.push_back(static_cast<std::uint64_t>(item.chunk) << 32 | item.row);
    }
    ends_.push_back(labels_.size());
    swept_ = plan.end_of_sweep;
  }

  Mixing mixing() {
    Mixing out;
    out.configured = mean([&](std::size_t i) { return labels_[i]; });
    const std::vector<std::uint32_t> in_file =
        in_file_order(static_cast<std::uint32_t>(labels_.size()), [&](std::size_t i) {
          return FilePlace{static_cast<std::uint32_t>(places_[i] >> 32), static_cast<std::uint32_t>(places_[i])};
        });
    out.file = mean([&](std::size_t i) { return labels_[in_file[i]]; });
    std::shuffle(labels_.begin(), labels_.end(), std::mt19937_64(1));
    out.full = mean([&](std::size_t i) { return labels_[i]; });
    return out;
  }

 private:
  template <class LabelAt>
  double mean(const LabelAt& label_at) const {
    Effective effective;
    std::size_t i = 0;
    for (const std::size_t end : ends_) {
      for (; i < end; ++i) {
        if (const std::uint32_t label = label_at(i); label != Survey::kNoLabel) effective.add(label);
      }
      effective.close();
    }
    return effective.mean();
  }

  const Survey& survey_;
  std::vector<std::uint32_t> labels_;  // of the items, in the order of the plan
  std::vector<std::uint64_t> places_;  // of the items in the file: chunk << 32 | row
  std::vector<std::size_t> ends_;      // of the minibatches, in items
  bool swept_ = false;
};

void judge_order(const Corpus& corpus, const char* whence, const std::shared_ptr<const Source>& source,
                 ReaderOptions options, Facts& facts) {
  options.workers = 1;
  options.rank = 0;
  facts.memory = Reader(source, options, corpus.setup.limits).memory_needed();  // with prefetch, as a run needs it
  options.prefetch = false;
  const Reader reader(source, options, corpus.setup.limits);
  facts.order = order_text(options, whence);
  facts.minibatch_size = options.minibatch_size.front();
  facts.size_unit = options.size_unit == SizeUnit::cells ? "padded cells" : name(options.size_unit);
  if (std::max(facts.about.sequences, options.pack.kind == Packing::frames ? facts.about.samples : 0) > kMostPlanned)
    return;
  ShuffleMeasure shuffle;
  CellsMeasure cells;
  MixingMeasure mixing(facts.survey);
  // Only the label of a sequence's first sample is known, so mixing cannot be judged for frames.
  const bool frames = options.pack.kind == Packing::frames && facts.about.samples != facts.about.sequences;
  reader.plan(~0ull, [&](const BatchPlan& plan) {
    ++facts.minibatches;
    shuffle.add(plan);
    cells.add(plan);
    if (!frames) mixing.add(plan);
  });
  facts.shuffle = shuffle.quality();
  // If (nearly) all sequences begin with one class, as speech with silence, there is nothing to mix.
  if (const Mixing found = mixing.mixing(); found.full > 1.01) facts.mixing = found;
  facts.cells = cells.cells();
  facts.bucketed = facts.cells;
  if (options.pack.kind == Packing::sequences && options.bucket_minibatches == 0 &&
      facts.about.lengths.min != facts.about.lengths.max && options.minibatch_size.size() == 1) {
    options.bucket_minibatches = 16;
    options.shard = Shard::even;
    facts.bucketed = cells_of(Reader(source, options, corpus.setup.limits));
  }
}

// "HTK features, MLF labels"
std::string kinds_of(const Setup& setup) {
  struct Kind {
    const char* operator()(const CtfOptions&) const { return "text (CTF)"; }
    const char* operator()(const CbfOptions&) const { return "binary (CBF)"; }
    const char* operator()(const HtkOptions&) const { return "HTK features"; }
    const char* operator()(const MlfOptions&) const { return "MLF labels"; }
    const char* operator()(const KaldiOptions&) const { return "Kaldi"; }
    const char* operator()(const std::shared_ptr<const Source>&) const { return "a source of its own"; }
  };
  std::vector<std::string> kinds;
  for (const SourceOptions& source : setup.sources) kinds.emplace_back(std::visit(Kind(), source));
  for (const auto& corpus : setup.mix) {
    for (const SourceOptions& source : corpus) kinds.emplace_back(std::visit(Kind(), source));
  }
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// Measures reading in the file's order, which needs no more memory than a few pieces of chunks.
std::optional<Pace> pace_of(const std::shared_ptr<const Source>& source, ReaderOptions options, const Facts& facts) {
  constexpr double kEnough = 1;  // seconds
  options.order.kind = OrderKind::file;
  options.bucket_minibatches = 0;
  options.epoch_samples = 0;
  options.max_invalid = std::numeric_limits<std::uint64_t>::max();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto began = now();
  const auto seconds = [&] { return std::chrono::duration<double>(now() - began).count(); };
  std::uint64_t samples = 0;
  try {
    Reader reader(source, options);
    Minibatch batch;
    while (seconds() < kEnough && reader.next(batch)) samples += batch.num_samples;
  } catch (const Error&) {
    return std::nullopt;
  }
  if (samples == 0 || facts.about.samples == 0) return std::nullopt;
  Pace out;
  out.threads = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  out.samples_per_second = static_cast<double>(samples) / seconds();
  out.sweep_seconds = static_cast<double>(facts.about.samples) / out.samples_per_second;
  out.bytes_per_second = static_cast<double>(facts.about.bytes) / out.sweep_seconds;
  return out;
}

void take_survey(const Setup& setup, const Report& keep, Console& console, Facts& facts) {
  SurveyOptions options;
  options.max_faults = kMostFindings;
  options.progress = console.progress("reading");
  try {
    facts.survey = survey(setup, options, keep);
  } catch (const Error&) {  // no page will show the findings, so they are told now
    for (const Notice& notice : facts.findings) console.notice(notice);
    throw;
  }
  for (const StreamSurvey& stream : facts.survey.streams)
    facts.class_names[stream.stream.name] = class_names(stream, setup);
}

}  // namespace

Facts gather_facts(const CorpusArguments& arguments, const RunOptions& run, Console& console) {
  Facts facts;
  facts.files = arguments.files;
  facts.title = std::filesystem::path(arguments.files.front()).filename().string();
  const Report keep = [&](const Notice& notice) {
    if (notice.severity != Severity::info && facts.findings.size() < kMostFindings) facts.findings.push_back(notice);
  };
  CheckResult at_loading;  // counts of what was reported before the survey
  const Report keep_and_count = [&](const Notice& notice) {
    keep(notice);
    if (notice.severity == Severity::info) return;
    ++(notice.severity == Severity::error ? at_loading.faults : at_loading.warnings);
    ++at_loading.by_id[notice.fault.id];
  };
  CorpusArguments looking = arguments;
  looking.unpacked_text = kLookedAtText;
  looking.shuffles = true;
  Corpus corpus = load_corpus(looking, console, keep_and_count);
  facts.format = name(corpus.format);
  facts.kinds = kinds_of(corpus.setup);
  facts.joined = corpus.setup.sources.size() > 1;
  if (corpus.config) facts.section = corpus.config->section;
  const bool chosen = corpus.config || arguments.order;
  if (!chosen) corpus.setup.reader.order.kind = OrderKind::uniform;

  take_survey(corpus.setup, keep, console, facts);
  facts.survey.check.faults += at_loading.faults;
  facts.survey.check.warnings += at_loading.warnings;
  for (const auto& [id, count] : at_loading.by_id) facts.survey.check.by_id[id] += count;

  Setup quiet = corpus.setup;
  quiet.report = {};
  const std::shared_ptr<const Source> source = open_to_look(quiet);
  facts.about = describe(*source);
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
    source->sequences(c, table);
    for (const SequenceInfo& sequence : table) facts.lengths.add(static_cast<float>(sequence.samples));
  }
  ReaderOptions reader = corpus.setup.reader;
  run.apply(corpus, reader);
  const bool asked = arguments.order || arguments.window || arguments.window_samples;
  judge_order(corpus, asked ? "as asked for" : corpus.config ? "as configured" : "the default", source, reader, facts);
  facts.in_parts = reader.order.kind == OrderKind::file && source->row_reader(0) != nullptr;
  facts.pace = pace_of(source, reader, facts);
  for (const Notice& notice : facts.about.notices) {
    if (notice.fault.id.starts_with("join.")) facts.left.push_back(notice.fault.what);
  }
  console.clear_progress();
  facts.advice = advice_for(facts);
  return facts;
}

}  // namespace batchfeed::cli
