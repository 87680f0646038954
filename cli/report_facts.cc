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

constexpr std::uint64_t kMostPlanned = 20'000'000;  // items of a sweep, 40 bytes each
constexpr std::uint64_t kMostFindings = 50;
constexpr std::uint64_t kAll = ~0ull;

std::string order_text(const ReaderOptions& options, bool from_config) {
  const OrderOptions& order = options.order;
  if (order.kind == OrderKind::file) return "file order, not shuffled";
  std::string window = order.window >= kWholeSet
                           ? "everything"
                           : fmt::format("{} {}", order.window, order.window_in_samples ? "samples" : "chunks");
  return fmt::format("order = {}, window of {}{}", order.kind == OrderKind::cntk ? "cntk" : "uniform", window,
                     from_config ? ", as configured" : ", the default");
}

// The exponential of the entropy of labels, averaged over minibatches.
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

Mixing mixing_of(const std::vector<BatchPlan>& plans, const Survey& survey) {
  std::vector<std::uint32_t> labels;  // of the items, in the order of the plan
  std::vector<std::pair<std::uint64_t, std::uint32_t>> in_file;
  std::vector<std::size_t> ends;
  for (const BatchPlan& plan : plans) {
    for (const BatchPlan::Item& item : plan.items) {
      const std::uint32_t label =
          survey.labels[item.chunk].empty() ? Survey::kNoLabel : survey.labels[item.chunk][item.row];
      labels.push_back(label);
      in_file.emplace_back(static_cast<std::uint64_t>(item.chunk) << 32 | item.row, label);
    }
    ends.push_back(labels.size());
    if (plan.end_of_sweep) break;
  }
  const auto mean = [&](const auto& label_at) {
    Effective effective;
    std::size_t i = 0;
    for (const std::size_t end : ends) {
      for (; i < end; ++i) {
        if (const std::uint32_t label = label_at(i); label != Survey::kNoLabel) effective.add(label);
      }
      effective.close();
    }
    return effective.mean();
  };
  Mixing out;
  out.configured = mean([&](std::size_t i) { return labels[i]; });
  std::stable_sort(in_file.begin(), in_file.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out.file = mean([&](std::size_t i) { return in_file[i].second; });
  std::shuffle(labels.begin(), labels.end(), std::mt19937_64(1));
  out.full = mean([&](std::size_t i) { return labels[i]; });
  return out;
}

void judge_order(const Corpus& corpus, const std::shared_ptr<const Source>& source, ReaderOptions options,
                 Facts& facts) {
  options.prefetch = false;
  options.workers = 1;
  options.rank = 0;
  const Reader reader(source, options, corpus.setup.limits);
  facts.order = order_text(options, corpus.config.has_value());
  facts.memory = reader.memory_needed();
  facts.minibatch_size = options.minibatch_size.front();
  facts.size_unit = options.size_unit == SizeUnit::samples     ? "samples"
                    : options.size_unit == SizeUnit::sequences ? "sequences"
                                                               : "padded cells";
  if (std::max(facts.about.sequences, options.pack.kind == Packing::frames ? facts.about.samples : 0) > kMostPlanned)
    return;
  const std::vector<BatchPlan> plan = reader.plan(kAll);
  facts.minibatches = plan.size();
  facts.shuffle = quality_of(plan);
  if (!facts.survey.labels.empty()) {
    // Where all sequences begin with one class, as speech does with silence, there is nothing to mix.
    if (const Mixing mixing = mixing_of(plan, facts.survey); mixing.full > 1.01) facts.mixing = mixing;
  }
  facts.cells = cells_of(plan);
  facts.bucketed = facts.cells;
  if (options.pack.kind == Packing::sequences && options.bucket_minibatches == 0 &&
      facts.about.lengths.min != facts.about.lengths.max && options.minibatch_size.size() == 1) {
    options.bucket_minibatches = 16;
    options.shard = Shard::even;
    facts.bucketed = cells_of(Reader(source, options, corpus.setup.limits).plan(kAll));
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

// In file order, which needs no more memory than the pieces at hand.
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

}  // namespace

Facts gather_facts(const CorpusArguments& arguments, const RunOptions& run, Console& console) {
  Facts facts;
  facts.files = arguments.files;
  facts.title = std::filesystem::path(arguments.files.front()).filename().string();
  const Report keep = [&](const Notice& notice) {
    if (notice.severity != Severity::info && facts.findings.size() < kMostFindings) facts.findings.push_back(notice);
  };
  CheckResult at_loading;  // what was told before anything was surveyed
  const Report keep_and_count = [&](const Notice& notice) {
    keep(notice);
    if (notice.severity == Severity::info) return;
    ++(notice.severity == Severity::error ? at_loading.faults : at_loading.warnings);
    ++at_loading.by_id[notice.fault.id];
  };
  CorpusArguments looking = arguments;
  looking.unpacked_text = kLookedAtText;
  Corpus corpus = load_corpus(looking, console, keep_and_count);
  facts.format = name(corpus.format);
  facts.kinds = kinds_of(corpus.setup);
  facts.joined = corpus.setup.sources.size() > 1;
  if (corpus.config) facts.section = corpus.config->section;
  const bool chosen = corpus.config || !arguments.order.empty();
  if (!chosen) corpus.setup.reader.order.kind = OrderKind::uniform;

  CheckOptions options;
  options.max_faults = kMostFindings;
  options.progress = console.progress("reading");
  try {
    facts.survey = survey(corpus.setup, options, keep);
  } catch (const Error&) {  // there will be no page to tell them on
    for (const Notice& notice : facts.findings) console.notice(notice);
    throw;
  }

  facts.survey.check.faults += at_loading.faults;
  facts.survey.check.warnings += at_loading.warnings;
  for (const auto& [id, count] : at_loading.by_id) facts.survey.check.by_id[id] += count;
  for (const StreamSurvey& stream : facts.survey.streams) {
    std::vector<std::string> names = class_names(stream, corpus.setup);
    if (!names.empty()) facts.class_names[stream.stream.name] = std::move(names);
  }

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
  judge_order(corpus, source, reader, facts);
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
