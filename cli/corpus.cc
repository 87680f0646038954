// SPDX-License-Identifier: MIT
#include "corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "format.h"
#include "in_memory.h"
#include "raise.h"

namespace batchfeed::cli {

namespace {

std::optional<Element> element(const std::string& precision) {
  if (precision.empty()) return std::nullopt;
  return precision == "double" ? Element::f64 : Element::f32;
}

bool looks_like_config(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".cntk" || extension == ".cfg" || extension == ".config";
}

Fault unusable(const std::string& file, std::string what, std::string hint) {
  return {.kind = FaultKind::usage,
          .id = "cli.not-a-corpus",
          .at = {.file = file},
          .what = std::move(what),
          .hint = std::move(hint)};
}

void from_config(const CorpusArguments& arguments, const Report& report, Corpus& corpus) {
  ConfigRequest request;
  request.files = arguments.files;
  request.set = arguments.set;
  request.section = arguments.section;
  request.precision = element(arguments.precision);
  request.report = report;
  request.file_system = corpus.setup.file_system;
  request.all_faults = arguments.all_faults;
  corpus.config = load_config(request);
  corpus.setup = std::move(corpus.config->setup);
}

void from_text(const CorpusArguments& arguments, Console& console, const Report& report, Corpus& corpus) {
  CtfOptions options;
  options.files = expand_files(arguments.files);
  const std::string file = options.files.front();
  if (arguments.text != nullptr) {
    options.files = {memory_name(file)};
    corpus.setup.file_system.open = memory_files(arguments.text).open;
  }
  corpus.inferred = infer_ctf(
      options.files, console.progress(fmt::format("looking at {}", std::filesystem::path(file).filename().string())),
      arguments.limits(), corpus.setup.file_system);
  for (const Notice& notice : rare_streams(*corpus.inferred, arguments.limits(), corpus.setup.file_system))
    report(notice);
  for (const Inferred::Stream& stream : corpus.inferred->streams) options.streams.push_back(stream.spec);
  options.seen = corpus.inferred->seen;
  if (options.streams.empty()) {
    throw Error(unusable(file, "no stream (|name ...) found in it",
                         "name a .cntk configuration, or a file in CNTK's text format"));
  }
  options.skip_sequence_ids = !corpus.inferred->has_ids;
  options.element = element(arguments.precision).value_or(Element::f32);
  corpus.setup.sources.emplace_back(std::move(options));
  if (corpus.inferred->text_ids) corpus.setup.reader.keys = KeyMode::text;
}

void from_binary(const CorpusArguments& arguments, Corpus& corpus) {
  CbfOptions options;
  options.files = arguments.files;
  const auto wanted = element(arguments.precision);
  options.element = wanted.value_or(Element::f32);
  options.convert_element = wanted.has_value();
  if (!wanted) {
    try {
      Setup setup = corpus.setup;
      setup.sources.emplace_back(options);
      (void)open_sources(setup);
    } catch (const Error& error) {  // what the file holds is what is wanted
      if (error.fault().id != "cbf.precision-mismatch") throw;
      options.element = Element::f64;
      options.convert_element = true;
    }
  }
  corpus.setup.sources.emplace_back(std::move(options));
}

std::vector<SourceOptions*> sources_of(Setup& setup) {
  std::vector<SourceOptions*> out;
  for (SourceOptions& source : setup.sources) out.push_back(&source);
  for (std::vector<SourceOptions>& corpus : setup.mix) {
    for (SourceOptions& source : corpus) out.push_back(&source);
  }
  return out;
}

// Features and labels without a configuration, joined by key.
void from_speech(const CorpusArguments& arguments, Corpus& corpus) {
  corpus.setup.sources =
      infer_speech(arguments.files, arguments.state_list, element(arguments.precision).value_or(Element::f32),
                   arguments.limits(), corpus.setup.file_system);
  corpus.setup.reader.keys = KeyMode::text;
}

std::vector<std::pair<std::string, std::string>> path_map(const CorpusArguments& arguments) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& rule : arguments.map_path) {
    const std::size_t equals = rule.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--map-path {}: expected FROM=TO", printable(rule)));
    out.emplace_back(rule.substr(0, equals), rule.substr(equals + 1));
  }
  return out;
}

void overlay(const CorpusArguments& arguments, Setup& setup) {
  OrderOptions& order = setup.reader.order;
  if (arguments.order == "file") order.kind = OrderKind::file;
  if (arguments.order == "cntk") order.kind = OrderKind::cntk;
  if (arguments.order == "uniform") order.kind = OrderKind::uniform;
  if (arguments.seed) order.seed = *arguments.seed;
  if (arguments.window) {
    order.window = *arguments.window;
    order.window_in_samples = false;
  }
  if (arguments.window_samples) {
    order.window = *arguments.window_samples;
    order.window_in_samples = true;
  }
  if (arguments.shard == "chunk") setup.reader.shard = Shard::chunk;
  if (arguments.shard == "even") setup.reader.shard = Shard::even;
  if (arguments.threads) setup.reader.threads = *arguments.threads;
  const auto mapped = path_map(arguments);
  for (SourceOptions* source : sources_of(setup)) {
    const auto cache = [&](auto& options) {
      options.cache_index = options.cache_index || arguments.cache_index || !arguments.cache_dir.empty();
      if constexpr (requires { options.cache_dir; }) {
        if (!arguments.cache_dir.empty()) options.cache_dir = arguments.cache_dir;
      }
    };
    if (auto* htk = std::get_if<HtkOptions>(source)) {
      htk->path_map.insert(htk->path_map.end(), mapped.begin(), mapped.end());
    }
    if (auto* ctf = std::get_if<CtfOptions>(source)) cache(*ctf);
    if (auto* mlf = std::get_if<MlfOptions>(source)) cache(*mlf);
  }
}

}  // namespace

void CorpusArguments::add_to(CLI::App& app, bool with_order) {
  app.add_option("file", files, "A .cntk configuration (several: later ones override), or a corpus file")
      ->required()
      ->type_name("CONFIG|FILE");
  const char* const config = "Configuration";
  app.add_option("--section", section, "Reader section to use, such as Train.reader (default: the only one)")
      ->type_name("A.B")
      ->group(config);
  app.add_option("--set", set,
                 "Configuration text that overrides, such as 'Train=[reader=[randomize=false]]'; repeatable")
      ->type_name("TEXT")
      ->take_all()
      ->allow_extra_args(false)
      ->group(config);
  app.add_option("--precision", precision, "float or double, instead of every precision key")
      ->check(CLI::IsMember({"float", "double"}))
      ->type_name("TYPE")
      ->group(config);
  app.add_option("--state-list", state_list, "Names of the classes of an MLF, one a line (default: those that occur)")
      ->type_name("FILE")
      ->group(config);
  app.add_option(
         "--map-path", map_path,
         "Read paths of HTK lists that begin with FROM from TO, such as '//host/share/=/data/'; \\ and / are the "
         "same; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FROM=TO")
      ->group(config);
  app.add_option("--root", roots,
                 "Read files in this folder only, whatever a configuration or a list names; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("DIR")
      ->group(config);
  const char* const index = "Index";
  app.add_flag("--cache-index", cache_index, "Keep the index beside the data, or in the user's cache folder")
      ->group(index);
  app.add_option("--cache-dir", cache_dir, "Keep the index in this folder")->type_name("DIR")->group(index);
  app.add_option("--threads", threads, "Threads that index and parse (default: one per core)")
      ->type_name("N")
      ->group(index);
  app.add_option(
         "--raise", raised,
         "Let a file ask for more than the limit that a message names allows, such as implied_samples=100000000; "
         "repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FIELD=N");
  const char* const packed = "Compressed files";
  const auto bytes = [&](const char* name, std::optional<std::uint64_t>& field, const char* what) {
    app.add_option(name, field, what)
        ->transform(CLI::AsSizeValue(false).description(""))
        ->type_name("BYTES")
        ->group(packed);
  };
  bytes("--unpacked-bytes", unpacked_bytes, "What a compressed file may unpack to, such as 2T (default 1T)");
  app.add_option("--unpack-ratio", unpack_ratio, "That beside its size (default 2000 times)")
      ->type_name("N")
      ->group(packed);
  bytes("--unpack-window-bytes", unpack_window_bytes, "Memory that unpacking a zstd file may need (default 128M)");
  if (!with_order) return;
  const char* const group = "Order";
  app.add_option("--order", order, "file, cntk (as the reference) or uniform, instead of what the configuration says")
      ->check(CLI::IsMember({"file", "cntk", "uniform"}))
      ->type_name("KIND")
      ->group(group);
  app.add_option("--seed", seed, "Seed of the shuffle")->type_name("N")->group(group);
  auto* chunks =
      app.add_option("--window-chunks", window, "Chunks among which is shuffled")->type_name("N")->group(group);
  app.add_option("--window-samples", window_samples, "The window in samples instead")
      ->type_name("N")
      ->excludes(chunks)
      ->group(group);
  app.add_option("--shard", shard, "chunk (as the reference) or even: how work is split among workers")
      ->check(CLI::IsMember({"chunk", "even"}))
      ->type_name("KIND")
      ->group(group);
  app.add_option("--mix-weights", mix_weights,
                 "Each file is a corpus of its own, and gives this share of the samples (3,1: three of four)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("W[,W...]")
      ->group(group);
}

Limits CorpusArguments::limits() const {
  Limits out;
  for (const std::string& rule : raised) raise(out, rule);
  if (unpacked_bytes) out.unpacked_bytes = *unpacked_bytes;
  if (unpack_ratio) out.unpack_ratio = *unpack_ratio;
  if (unpack_window_bytes) out.unpack_window_bytes = *unpack_window_bytes;
  return out;
}

namespace {

// What a file of no known format may be, and where to go with it.
std::string way_out(const std::string& path, const Limits& limits) {
  const std::string head = first_bytes(path, 1u << 16, limits).bytes;
  const auto is_text = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
  };
  const std::string line = head.substr(0, head.find('\n'));
  if (std::all_of(head.begin(), head.end(), is_text) && line.size() < head.size()) {
    const bool is_markup = line.find_first_of("{[<|") != std::string::npos;
    if (!is_markup && line.find_first_of(",;") != std::string::npos)
      return "a table? from_pandas() of the Python package takes one; in a text corpus a row is |x 1 2 |y 3";
    if (!is_markup && line.find(':') != std::string::npos && line.find_first_of("0123456789+-") == 0)
      return "svmlight? from_svmlight() of the Python package takes it; in a text corpus a row is |x 3:0.5 |y 1";
    if (head.find_first_of(" \t") == std::string::npos && std::count(head.begin(), head.end(), '\n') > 1)
      return "a word a line: as --state-list it names the classes of MLF labels";
  }
  return "name a .cntk configuration, a file in CNTK's text or binary format, HTK features (scp), MLF labels or Kaldi "
         "files";
}

bool is_corpus(const std::string& path, const Limits& limits) {
  const Format format = detect_format(path, {}, limits);
  return format == Format::ctf || format == Format::cbf || format == Format::htk || format == Format::mlf;
}

// Every line of a corpus that is taken for a configuration would be a fault.
void expect_config(const std::string& first, const CorpusArguments& arguments) {
  if (!is_corpus(first, arguments.limits())) return;
  throw Error(unusable(
      first,
      std::string("is no configuration, which ") + (arguments.section.empty() ? "--set" : "--section") + " is for",
      "leave it out"));
}

// A configuration may have any name; data among configurations are a slip.
void expect_of_one_kind(const CorpusArguments& arguments) {
  const std::vector<std::string>& files = arguments.files;
  const auto config = std::find_if(files.begin(), files.end(), looks_like_config);
  if (config == files.end() || files.size() == 1) return;
  for (const std::string& file : files) {
    if (looks_like_config(file) || !is_corpus(file, arguments.limits())) continue;
    throw UsageError(
        fmt::format("{} is a configuration, {} is a corpus; hint: a configuration names its files itself: give one "
                    "or the other",
                    printable(*config), printable(file)));
  }
}

// One corpus: a configuration, or files that come without one.
Corpus load_one(const CorpusArguments& arguments, Console& console, const Report& report) {
  expect_of_one_kind(arguments);
  Corpus corpus;
  corpus.setup.file_system.roots = arguments.roots;
  // Of a compressed file that does not stay in memory three passes are left: where reading can begin and how much
  // there is; which streams it has; and where its sequences stand, which depends on which streams count.
  corpus.setup.file_system.unpacked = share_unpacked(arguments.unpacked_text);
  const std::vector<std::string> files =
      looks_like_config(arguments.files.front()) ? arguments.files : expand_files(arguments.files);
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
    case Format::kaldi: from_speech(arguments, corpus); break;
    case Format::unknown:
      throw Error(unusable(first, "neither a configuration nor a corpus in a known format",
                           way_out(first, arguments.limits())));
  }
  if (corpus.format != Format::config) {
    corpus.setup.reader.order.kind = OrderKind::file;  // as it stands in the file, until asked otherwise
  }
  return corpus;
}

// Each file a corpus: what the first says of order and minibatches goes for all.
Corpus load_mixture(const CorpusArguments& arguments, Console& console, const Report& report) {
  if (arguments.mix_weights.size() != arguments.files.size()) {
    throw UsageError(fmt::format("--mix-weights: {} for {}; hint: give one weight for each",
                                 plural(arguments.mix_weights.size(), "weight"),
                                 plural(arguments.files.size(), "file")));
  }
  Corpus out;
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    CorpusArguments one = arguments;
    one.files = {arguments.files[i]};
    Corpus corpus = load_one(one, console, report);
    std::vector<SourceOptions> sources = std::move(corpus.setup.sources);
    const KeyMode keys = corpus.setup.reader.keys;
    if (i == 0) {
      corpus.setup.sources.clear();
      out = std::move(corpus);
      out.setup.reader.shard = Shard::even;  // sharing by chunk is not for mixtures
    } else if (keys != out.setup.reader.keys) {
      out.setup.reader.keys = KeyMode::text;
    }
    out.setup.mix.push_back(std::move(sources));
  }
  fit_inferred(out.setup.mix);
  out.setup.reader.mix_weights = arguments.mix_weights;
  return out;
}

// traceLevel = 2.
bool wants_notes(const Setup& setup) {
  const auto wants = [](const SourceOptions& source) {
    return std::visit(
        [](const auto& options) {
          if constexpr (requires { options.trace_level; }) return options.trace_level > 1;
          return false;
        },
        source);
  };
  return std::any_of(setup.sources.begin(), setup.sources.end(), wants);
}

}  // namespace

Corpus load_corpus(const CorpusArguments& arguments, Console& console, const Report& report) {
  Corpus corpus =
      arguments.mix_weights.empty() ? load_one(arguments, console, report) : load_mixture(arguments, console, report);
  overlay(arguments, corpus.setup);
  console.verbose = console.verbose || wants_notes(corpus.setup);
  corpus.setup.limits = arguments.limits();
  corpus.setup.report = report ? report : console.report();
  corpus.setup.progress =
      console.progress(fmt::format("indexing {}", std::filesystem::path(arguments.files.front()).filename().string()));
  return corpus;
}

std::vector<std::shared_ptr<const Source>> open_corpora(const Setup& setup) {
  if (setup.mix.empty()) return {open_sources(setup)};
  std::vector<std::shared_ptr<const Source>> out;
  for (const auto& sources : setup.mix) {
    Setup one = setup;
    one.sources = sources;
    one.mix.clear();
    out.emplace_back(open_sources(one));
  }
  return out;
}

}  // namespace batchfeed::cli
