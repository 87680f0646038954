// SPDX-License-Identifier: MIT
#include "assemble/open.h"

#include <batchfeed/config.h>
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/threads.h"
#include "join/join.h"

namespace batchfeed {

namespace assemble {

OpenContext context_of(const Setup& setup) {
  OpenContext context;
  context.limits = setup.limits;
  context.file_system = setup.file_system;
  context.report = setup.report;
  context.progress = setup.progress;
  context.keys = std::make_shared<KeyTable>(setup.reader.keys);
  context.threads = threads_of(setup.reader.threads);
  return context;
}

namespace {

// Throws Error if the setup has several sources that cannot be joined by key.
void expect_joinable(const Setup& setup) {
  if (setup.sources.size() < 2) return;
  if (!nature_of(setup.sources[0]).may_be_first) {
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "open.labels-first",
                      .what = "MLF labels cannot be the first of several sources, which gives order and chunks",
                      .hint = "put the features first"});
  }
  const auto has_numbers = [](const SourceOptions& options) { return nature_of(options).has_numbers; };
  if (setup.reader.keys == KeyMode::numeric || std::ranges::all_of(setup.sources, has_numbers)) return;
  if (std::ranges::none_of(setup.sources, has_numbers)) return;
  throw Error(
      Fault{.kind = FaultKind::usage,
            .id = "open.source-keys",
            .what = "a source of the caller's own has numbers for keys, and the others are to be joined by text",
            .hint = "`keys = numeric`, with numbers for ids in the files too"});
}

// A warning if the source has keys that differ from its sequences' numbers: the keys of a binary file stand in a file
// beside it, but joins are by number, as in the reference. Compares the first and the last sequence only.
std::optional<Notice> joined_by_number(const Source& source) try {
  if (source.chunks().empty()) return std::nullopt;
  std::vector<SequenceInfo> table;
  for (const std::size_t c : {std::size_t{0}, source.chunks().size() - 1}) {
    source.sequences(static_cast<std::uint32_t>(c), table);
    if (table.empty()) continue;
    const std::uint64_t key = c == 0 ? table.front().key : table.back().key;
    const std::string name = source.key_text(key);
    if (name == std::to_string(key)) continue;
    return Notice{.severity = Severity::warning,
                  .fault = {.kind = FaultKind::usage,
                            .id = "join.by-number",
                            .at = {.file = source.place(static_cast<std::uint32_t>(c), 0).file},
                            .what = "is joined by the numbers of its sequences, and not by the keys kept beside it: "
                                    "number " +
                                    std::to_string(key) + " is '" + name + "'",
                            .hint = "join the text it was made of; or the other file must be in its order, with its "
                                    "numbers for ids"}};
  }
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;  // unreadable keys are no reason not to read the data
}

void tell_collision(const OpenContext& context) {
  if (!context.report) return;
  if (const auto same = context.keys->collision()) {
    context.report(
        {.severity = Severity::warning,
         .fault = {.kind = FaultKind::format,
                   .id = "keys.collision",
                   .what = "keys '" + same->first + "' and '" + same->second + "' have one hash and count as one key",
                   .hint = "compare the keys themselves: `keys = text`"}});
  }
}

void tell_joined_by_number(const Setup& setup, const std::vector<std::unique_ptr<Source>>& sources,
                           const OpenContext& context) {
  for (std::size_t i = 0; i < sources.size() && context.report; ++i) {
    if (!nature_of(setup.sources[i]).is_numbered || sources[i]->chunks().empty()) continue;
    if (const auto notice = joined_by_number(*sources[i])) context.report(*notice);
  }
}

// `first`: the first source as opened, not yet wrapped by OpenContext::around; the result refers to it.
join::Options how_to_join(const Setup& setup, Source& first) {
  const Nature nature = nature_of(setup.sources[0]);
  join::Options how{.frames = setup.reader.pack.kind == Packing::frames && first.splits_frames(),
                    .exact = setup.reader.legacy_speech,
                    .strict = setup.reader.one_sequence};
  // HTKMLFReader cuts chunks of the utterances that all sources have (htk.md 5, 11.2).
  if (setup.reader.legacy_speech && nature.leave_out != nullptr) {
    how.too_long = nature.too_long(first);
    how.cut_again = [leave_out = nature.leave_out, &first](const std::vector<std::uint64_t>& gone) {
      leave_out(first, gone);
    };
  }
  for (const SourceOptions& options : setup.sources)
    how.same_length.push_back(nature.is_speech && nature_of(options).is_speech);
  // The caches of all other sources together take at most memory_limit, beside what the reader itself holds.
  if (const std::uint64_t limit = setup.reader.memory_limit; limit != 0 && setup.sources.size() > 1)
    how.cache_bytes = std::min(how.cache_bytes, limit / (setup.sources.size() - 1));
  return how;
}

}  // namespace

std::unique_ptr<Source> open_all(const Setup& setup, const OpenContext& context, bool only_sums) {
  if (setup.sources.empty()) {
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "open.no-source",
                      .what = "the setup has no source",
                      .hint = "give at least one"});
  }
  expect_joinable(setup);
  std::vector<std::unique_ptr<Source>> sources;
  for (const SourceOptions& options : setup.sources) sources.push_back(open_one(options, context));
  std::set<std::string> told;  // the notices of a join repeat those of its sources
  const auto tell = [&](const Source& source) {
    if (!context.report) return;
    for (const Notice& notice : source.notices()) {
      if (told.insert(notice.fault.text()).second) context.report(notice);
    }
  };
  for (const auto& source : sources) tell(*source);
  tell_collision(context);
  join::Options how = how_to_join(setup, *sources[0]);
  if (context.check && context.report && !only_sums) {
    how.each = [&](const Fault& fault) { context.report({.severity = Severity::warning, .fault = fault}); };
  }
  if (context.around) {
    for (auto& source : sources) source = context.around(std::move(source));
  }
  if (sources.size() == 1) return std::move(sources[0]);
  tell_joined_by_number(setup, sources, context);
  auto joined = join::join(std::move(sources), how);
  tell(*joined);
  return joined;
}

std::vector<Setup> corpora_of(const Setup& setup) {
  if (setup.mix.empty()) return {setup};
  if (!setup.sources.empty()) {
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "open.sources-and-mix",
                      .what = "the setup has both sources and a mixture",
                      .hint = "sources are joined, a mixture has corpora of its own: give one of them"});
  }
  Setup base = setup;  // what the corpora have in common, without each other: there may be thousands
  base.mix.clear();
  base.reader.mix_weights.clear();
  std::vector<Setup> out(setup.mix.size(), base);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].sources = setup.mix[i];
  return out;
}

std::vector<std::shared_ptr<const Source>> open_corpora(const Setup& setup, const OpenContext& context) {
  std::vector<std::shared_ptr<const Source>> out;
  for (const Setup& corpus : corpora_of(setup)) out.push_back(open_all(corpus, context));
  return out;
}

std::unique_ptr<Source> open_as_one(const Setup& setup, const OpenContext& context, bool only_sums) {
  std::vector<std::unique_ptr<Source>> corpora;
  for (const Setup& corpus : corpora_of(setup)) corpora.push_back(open_all(corpus, context, only_sums));
  return join::concatenate(std::move(corpora));
}

}  // namespace assemble

std::unique_ptr<Source> open_source(const SourceOptions& options, const Limits& limits, const Report& report,
                                    KeyMode keys) {
  Setup setup;
  setup.limits = limits;
  setup.report = report;
  setup.reader.keys = keys;
  return assemble::open_one(options, assemble::context_of(setup));
}

std::unique_ptr<Source> open_sources(const Setup& setup) {
  return assemble::open_as_one(setup, assemble::context_of(setup), true);
}

std::vector<std::shared_ptr<const Source>> open_corpora(const Setup& setup) {
  return assemble::open_corpora(setup, assemble::context_of(setup));
}

std::unique_ptr<Source> open_to_look(const Setup& setup) {
  OpenContext context = assemble::context_of(setup);
  context.check = true;
  return assemble::open_as_one(setup, context, true);
}

Reader::Reader(const Setup& setup) : Reader(open_corpora(setup), setup.reader, setup.limits, setup.report) {}

Reader open(const std::string& config, const OpenOptions& options) {
  ConfigRequest request;
  request.files = {config};
  request.set = options.set;
  request.section = options.section;
  request.precision = options.precision;
  request.limits = options.limits;
  request.file_system = options.file_system;
  request.report = options.report;
  LoadedConfig loaded = load_config(request);
  ReaderOptions& reader = loaded.setup.reader;
  loaded.setup.report = options.report;
  if (options.minibatch_samples) {
    reader.minibatch_size = {*options.minibatch_samples};
  } else if (loaded.wrong_minibatch_size) {
    throw Error(*loaded.wrong_minibatch_size);
  } else if (!loaded.minibatch_size.empty()) {
    reader.minibatch_size = loaded.minibatch_size;
  }
  if (options.workers) reader.workers = *options.workers;
  if (options.rank) reader.rank = *options.rank;
  if (options.threads) reader.threads = *options.threads;
  return Reader(loaded.setup);
}

}  // namespace batchfeed
