// SPDX-License-Identifier: MIT
#include "corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "format.h"
#include "in_memory.h"
#include "looks.h"

namespace batchfeed::cli {

namespace {

ConfigRequest request_of(const CorpusArguments& arguments) {
  ConfigRequest request;
  request.files = arguments.files;
  request.set = arguments.set;
  request.section = arguments.section;
  request.precision = arguments.precision;
  request.limits = arguments.limits();
  return request;
}

void from_config(const CorpusArguments& arguments, const Report& report, Corpus& corpus) {
  ConfigRequest request = request_of(arguments);
  request.report = report;
  request.file_system = corpus.setup.file_system;
  request.all_faults = arguments.all_faults;
  corpus.config = load_config(request);
  corpus.setup = std::move(corpus.config->setup);
}

void from_text(const CorpusArguments& arguments, Console& console, const Report& report, Corpus& corpus) {
  CtfOptions options;
  options.files = expand_files(arguments.files, {}, arguments.limits());
  const std::string file = options.files.front();
  if (arguments.text != nullptr) {
    options.files = {memory_name(file)};
    corpus.setup.file_system.open = memory_files(arguments.text).open;
  }
  corpus.inferred = infer_ctf(
      options.files, console.progress(fmt::format("looking at {}", std::filesystem::path(file).filename().string())),
      arguments.limits(), corpus.setup.file_system,
      {.keep = arguments.text == nullptr && (arguments.cache_index || !arguments.cache_dir.empty()),
       .directory = arguments.cache_dir,
       .rebuild = arguments.rebuild_cache});
  for (const Notice& notice : rare_streams(*corpus.inferred, arguments.limits(), corpus.setup.file_system))
    report(notice);
  for (const Inferred::Stream& stream : corpus.inferred->streams) options.streams.push_back(stream.spec);
  options.seen = corpus.inferred->seen;
  if (options.streams.empty()) {
    throw no_stream(file, arguments.limits());
  }
  options.skip_sequence_ids = !corpus.inferred->has_ids;
  options.element = arguments.precision.value_or(Element::f32);
  // Patterns are kept, since opening expands them again and warns of folders that we may not read.
  if (arguments.text == nullptr) options.files = arguments.files;
  corpus.setup.sources.emplace_back(std::move(options));
  if (corpus.inferred->text_ids) corpus.setup.reader.keys = KeyMode::text;
}

void from_binary(const CorpusArguments& arguments, Corpus& corpus) {
  CbfOptions options;
  options.files = arguments.files;
  const auto wanted = arguments.precision;
  options.element = wanted.value_or(Element::f32);
  options.convert_element = wanted.has_value();
  if (!wanted) {
    try {
      Setup setup = corpus.setup;
      setup.sources.emplace_back(options);
      (void)open_sources(setup);
    } catch (const Error& error) {  // without --precision the file's own counts
      if (error.fault().id != "cbf.precision-mismatch") throw;
      options.element = Element::f64;
      options.convert_element = true;
    }
  }
  corpus.setup.sources.emplace_back(std::move(options));
}

// Infers features and labels without a configuration, which are joined by key.
void from_speech(const CorpusArguments& arguments, const Report& report, Corpus& corpus) {
  corpus.setup.sources = infer_speech(arguments.files, arguments.state_list, arguments.precision.value_or(Element::f32),
                                      arguments.limits(), corpus.setup.file_system, report);
  corpus.setup.reader.keys = KeyMode::text;
}

// Loads one corpus: a configuration, or files that come without one.
Corpus load_one(const CorpusArguments& arguments, Console& console, const Report& report) {
  expect_no_overrides(arguments.files);
  expect_of_one_kind(arguments);
  Corpus corpus;
  corpus.setup.file_system.roots = arguments.roots;
  // A compressed file that does not stay in memory is unpacked three times: to find the points where reading can begin;
  // to infer its streams; and to index its sequences, which depends on the streams.
  corpus.setup.file_system.unpacked = share_unpacked(arguments.unpacked_text);
  const std::vector<std::string> files = looks_like_config(arguments.files.front())
                                             ? arguments.files
                                             : expand_files(arguments.files, {}, arguments.limits());
  const std::string& first = files.front();
  if (looks_like_config(first) || !arguments.section.empty() || !arguments.set.empty()) {
    corpus.format = Format::config;
    if (!looks_like_config(first)) expect_config(first, arguments);
  } else {
    corpus.format = detect_format(files, {}, arguments.limits());
  }
  const Report told = report ? report : console.report();
  switch (corpus.format) {
    case Format::config: from_config(arguments, told, corpus); break;
    case Format::ctf: from_text(arguments, console, told, corpus); break;
    case Format::cbf: from_binary(arguments, corpus); break;
    case Format::htk:
    case Format::scp:
    case Format::mlf:
    case Format::kaldi: from_speech(arguments, told, corpus); break;
    case Format::unknown: throw not_a_corpus(first, arguments.limits());
  }
  if (corpus.format != Format::config) {
    corpus.setup.reader.order.kind = OrderKind::file;  // the default without a configuration
  }
  return corpus;
}

// Loads a mixture, in which each file is a corpus. The options of the first for order and minibatches hold for all.
Corpus load_mixture(const CorpusArguments& arguments, Console& console, const Report& report) {
  if (arguments.mix_weights.size() != arguments.files.size()) {
    throw UsageError(fmt::format("--mix-weights: {} for {}; hint: give one weight for each",
                                 plural(arguments.mix_weights.size(), "weight"),
                                 plural(arguments.files.size(), "file")));
  }
  std::vector<CorpusArguments> each = one_by_one(arguments, arguments.files);
  Corpus out;
  for (std::size_t i = 0; i < each.size(); ++i) {
    Corpus corpus = load_one(each[i], console, report);
    std::vector<SourceOptions> sources = std::move(corpus.setup.sources);
    const KeyMode keys = corpus.setup.reader.keys;
    if (i == 0) {
      corpus.setup.sources.clear();
      out = std::move(corpus);
      out.setup.reader.shard = Shard::even;  // Shard::chunk cannot be used for mixtures
    } else if (keys != out.setup.reader.keys) {
      out.setup.reader.keys = KeyMode::text;
    }
    out.setup.mix.push_back(std::move(sources));
  }
  fit_inferred(out.setup.mix, arguments.limits(), out.setup.file_system);
  out.setup.reader.mix_weights = arguments.mix_weights;
  return out;
}

// Whether the files of a corpus are not in the format of any, so that they may be a configuration.
bool may_be_config(const CorpusArguments& arguments) {
  const std::vector<std::string>& files = arguments.files;
  if (looks_like_config(files.front())) return true;
  const Format format = detect_format(expand_files(files, {}, arguments.limits()).front(), {}, arguments.limits());
  return format == Format::config || format == Format::unknown;
}

// Whether a source has traceLevel = 2.
bool wants_notes(Setup& setup) {
  const auto wants = [](const SourceOptions* source) {
    return std::visit(
        [](const auto& options) {
          if constexpr (requires { options.trace_level; }) return options.trace_level > 1;
          return false;
        },
        *source);
  };
  const std::vector<SourceOptions*> sources = sources_of(setup);
  return std::any_of(sources.begin(), sources.end(), wants);
}

}  // namespace

Progress indexing(const CorpusArguments& arguments, Console& console) {
  return console.progress(
      fmt::format("indexing {}", std::filesystem::path(arguments.files.front()).filename().string()));
}

std::vector<CorpusArguments> one_by_one(CorpusArguments arguments, const std::vector<std::string>& files) {
  std::vector<CorpusArguments> each;
  arguments.files.clear();  // of thousands, each would hold the names of all
  for (const std::string& file : files) each.emplace_back(arguments).files = {file};
  for_configurations_alone(each);
  return each;
}

void for_configurations_alone(std::vector<CorpusArguments>& each) {
  const auto overridden = [](const CorpusArguments& one) { return !one.section.empty() || !one.set.empty(); };
  if (std::none_of(each.begin(), each.end(), overridden)) return;
  std::vector<CorpusArguments*> others;
  for (CorpusArguments& one : each) {
    if (!may_be_config(one)) others.push_back(&one);
  }
  if (others.size() == each.size()) return;
  for (CorpusArguments* one : others) {
    one->section.clear();
    one->set.clear();
  }
}

Corpus load_corpus(const CorpusArguments& arguments, Console& console, const Report& report) {
  Corpus corpus =
      arguments.mix_weights.empty() ? load_one(arguments, console, report) : load_mixture(arguments, console, report);
  arguments.overlay(corpus.setup);
  const bool shuffled = arguments.shuffles && !corpus.config && !arguments.order;
  if (const char* const of_shuffle = arguments.given_of_shuffle();
      of_shuffle != nullptr && !shuffled && corpus.setup.reader.order.kind == OrderKind::file) {
    console.warn({.kind = FaultKind::usage,
                  .id = "cli.unused",
                  .what = std::string(of_shuffle) + " changes nothing: sequences come in the order of the file",
                  .hint = "--order uniform shuffles them"});
  }
  console.verbose = console.verbose || wants_notes(corpus.setup);
  corpus.setup.limits = arguments.limits();
  corpus.setup.report = report ? report : console.report();
  corpus.setup.progress = indexing(arguments, console);
  return corpus;
}

std::vector<Corpus> load_corpora(const std::vector<CorpusArguments>& each, Console& console) {
  std::vector<Corpus> out;
  std::vector<std::vector<SourceOptions>> sources;
  for (const CorpusArguments& one : each) {
    sources.push_back(std::move(out.emplace_back(load_corpus(one, console)).setup.sources));
    console.clear_progress();
  }
  if (!out.empty()) fit_labels(sources, each.front().limits(), out.front().setup.file_system);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].setup.sources = std::move(sources[i]);
  return out;
}

std::vector<std::string> sections_to_choose(const CorpusArguments& arguments) {
  expect_no_overrides(arguments.files);
  const bool choice = arguments.section.empty() && looks_like_config(arguments.files.front());
  std::vector<std::string> sections;
  if (choice) sections = reader_sections(request_of(arguments));
  return sections.size() > 1 ? sections : std::vector<std::string>();
}

}  // namespace batchfeed::cli
