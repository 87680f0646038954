// SPDX-License-Identifier: MIT
//
// `batchfeed convert`: any corpus to a text or a binary one, or to speech files.
#include "convert.h"

#include <batchfeed/convert.h>
#include <batchfeed/speech_writer.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <type_traits>
#include <variant>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "in_memory.h"
#include "jsonl.h"
#include "target.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

std::string shown(const std::string& file) { return printable(file, std::string::npos); }

struct ConvertArguments {
  CorpusArguments corpus;
  std::string to, layout, keys = "auto";
  std::vector<std::string> streams, renames;
  std::optional<std::uint64_t> shuffle, shuffle_memory;
  std::uint64_t chunk_size = kChunkBytes;
  unsigned jobs = 0;
  HeaderOptions header;
  bool force = false, verify = false, json = false;
};

// Sets the layout of --layout. Each format has two, the first is the default, or only one.
void set_layout(const std::string& layout, ConvertOptions& options) {
  const auto choose = [&](std::string_view usual, std::string_view other) {
    if (layout.empty() || layout == usual) return false;
    if (layout == other) return true;
    throw UsageError(fmt::format("--layout {}: {} has {}", layout, name(options.to),
                                 usual.empty() ? "one layout only" : fmt::format("{} and {}", usual, other)));
  };
  switch (options.to) {
    case Format::cbf: options.legacy = choose("modern", "legacy"); break;
    case Format::scp: options.file_for_each_sequence = choose("archive", "files"); break;
    case Format::mlf: options.binary_labels = choose("text", "binary"); break;
    default: choose({}, {});
  }
}

ConvertOptions options_of(const ConvertArguments& a, const std::string& target) {
  ConvertOptions options;
  options.to = target_format(a.to, target);
  set_layout(a.layout, options);
  options.chunk_bytes = a.chunk_size;
  if (options.chunk_bytes == 0) throw UsageError("--chunk-size 0: expected bytes, such as 33554432, 32M or 1G");
  options.streams = a.streams;
  for (const std::string& rename : a.renames) {
    const std::size_t equals = rename.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == rename.size()) {
      throw UsageError(fmt::format("--rename {}: expected OLD=NEW", rename));
    }
    options.renames.emplace_back(rename.substr(0, equals), rename.substr(equals + 1));
  }
  options.keys = keys_of(a.keys);
  options.shuffle = a.shuffle;
  if (a.shuffle_memory && !a.shuffle) {
    throw UsageError("--shuffle-memory without --shuffle changes nothing; hint: add --shuffle SEED, or leave it out");
  }
  options.shuffle_memory = a.shuffle_memory.value_or(kShuffleMemory);
  options.jobs = a.jobs;
  options.force = a.force;
  options.verify = a.verify;
  return options;
}

int run_convert(ConvertArguments a, Console& console) {
  if (a.corpus.files.size() < 2)
    throw UsageError("a source and a target are needed; hint: batchfeed convert train.ctf train.cbf");
  const std::string target = a.corpus.files.back();
  a.corpus.files.pop_back();
  a.corpus.threads = a.jobs == 0 ? a.corpus.threads : std::optional<unsigned>(a.jobs);
  expect_absent(target, a.force);  // before time is spent on reading the source
  ConvertOptions options = options_of(a, target);
  Corpus corpus = load_corpus(a.corpus, console);
  expect_no_source(target, options.to, corpus, a.streams);
  const Setup setup = corpus.setup;
  const std::unique_ptr<Source> source = open_for_conversion(std::move(corpus), a.corpus, console);
  if (options.to == Format::mlf) options.labels = label_names(a.corpus.state_list, setup, a.streams);
  a.header.set(options, {options.to}, {&setup});
  warn_of_comments({&setup}, console.report());
  keep_ids(options, setup);
  return run_conversion(*source, target, options, a.json, console);
}

// Calls expect_other(file) once for each file that the rows of a list are in.
template <class ExpectOther>
void expect_unnamed(const Source& list, const ExpectOther& expect_other) {
  std::set<std::string> seen;
  for (std::uint32_t c = 0; c < list.chunks().size(); ++c) {
    for (std::uint32_t row = 0; row < list.chunks()[c].sequences; ++row) {
      const std::string file = list.place(c, row).file;
      if (seen.insert(file).second) expect_other(file);
    }
  }
}

// Whether `file` lies in `folder`, at any depth, as the files of --layout files do.
bool lies_in(const std::string& file, const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return false;
  const std::filesystem::path whole = std::filesystem::canonical(file, none);
  const std::filesystem::path of = std::filesystem::canonical(folder, none);
  return !whole.empty() && !of.empty() &&
         std::mismatch(of.begin(), of.end(), whole.begin(), whole.end()).first == of.end();
}

// Whether a setup reads lists, which may name only a part of what their files hold, and `target` is none of them.
bool reads_other_list(const Setup& setup, const std::string& target) {
  std::error_code none;
  std::vector<std::string> lists;
  for (const SourceOptions& source : setup.sources) {
    if (const auto* htk = std::get_if<HtkOptions>(&source))
      lists.insert(lists.end(), htk->scp_files.begin(), htk->scp_files.end());
    if (const auto* kaldi = std::get_if<KaldiOptions>(&source))
      lists.insert(lists.end(), kaldi->files.begin(), kaldi->files.end());
  }
  return !lists.empty() && std::none_of(lists.begin(), lists.end(), [&](const std::string& list) {
    return std::filesystem::equivalent(list, target, none);
  });
}

}  // namespace

ConvertOptions::Keys keys_of(const std::string& word) {
  using Keys = ConvertOptions::Keys;
  return word == "keep" ? Keys::keep : word == "number" ? Keys::number : word == "none" ? Keys::none : Keys::automatic;
}

Format target_format(const std::string& to, const std::string& path) {
  return as_asked([&] { return batchfeed::target_format(path, to); });
}

std::vector<std::string> label_names(const std::string& state_list, const Setup& setup,
                                     const std::vector<std::string>& streams) {
  if (!state_list.empty()) return read_state_list(state_list, setup.limits, setup.file_system);
  for (const SourceOptions& source : setup.sources) {
    const auto* mlf = std::get_if<MlfOptions>(&source);
    if (mlf == nullptr || !mlf->target_mapping_file.empty()) continue;
    if (!streams.empty() && std::find(streams.begin(), streams.end(), mlf->name) == streams.end()) continue;
    return mlf->mapping_file.empty() ? mlf->labels
                                     : read_state_list(mlf->mapping_file, setup.limits, setup.file_system);
  }
  return {};
}

bool has_ids(const Setup& setup) {
  constexpr std::size_t kLook = 1u << 16;
  const auto* ctf = setup.sources.size() == 1 ? std::get_if<CtfOptions>(&setup.sources.front()) : nullptr;
  if (ctf == nullptr || ctf->skip_sequence_ids) return false;
  try {
    const std::string file = own_name(expand_files(ctf->files, {}, setup.limits).front());
    const auto head = std::make_shared<const std::string>(first_bytes(file, kLook, setup.limits).bytes);
    return infer_ctf(memory_name(file), kLook, {}, setup.limits, memory_files(head)).has_ids;
  } catch (const Error& error) {
    if (error.fault().kind == FaultKind::io || error.fault().kind == FaultKind::stale) throw;
    return false;  // the beginning of the file does not show it
  }
}

void keep_ids(ConvertOptions& options, const Setup& setup) {
  const bool wanted = options.to == Format::ctf || (options.to == Format::cbf && options.shuffle);
  if (wanted && options.keys == ConvertOptions::Keys::automatic && has_ids(setup))
    options.keys = ConvertOptions::Keys::keep;
}

void expect_absent(const std::string& target, bool force) {
  std::error_code none;
  if (target.empty())
    throw UsageError("the name of the file to write is empty; hint: is a variable of the shell not set?");
  if (target == "-")
    throw UsageError("'-' is standard output, and a corpus is written to a file; hint: ./- is a file of that name");
  if (std::filesystem::is_directory(target, none))
    throw UsageError(fmt::format("'{}' is a folder; hint: name a file in it", shown(target)));
  if (!force && std::filesystem::exists(std::filesystem::symlink_status(target, none)))
    throw UsageError(fmt::format("'{}' exists already; hint: choose another name, or --force", shown(target)));
}

void expect_no_source(const std::string& target, Format to, const Corpus& corpus,
                      const std::vector<std::string>& streams) {
  const bool slips = corpus.inferred && !corpus.inferred->rare.empty();
  if (corpus.config || slips || !streams.empty() || reads_other_list(corpus.setup, target))
    expect_no_source(target, to, corpus.setup);
}

void expect_no_source(const std::string& target, Format to, const Setup& setup, const char* left) {
  std::error_code none;
  std::vector<std::string> written{target};
  if (to == Format::scp) written.push_back(HtkWriter::companion(target, HtkLayout::archive));
  std::erase_if(written, [&](const std::string& file) { return !std::filesystem::exists(file, none); });
  if (written.empty()) return;
  const auto expect_other = [&](const std::string& read) {
    for (const std::string& file : written) {
      if (!std::filesystem::equivalent(read, file, none) && !lies_in(read, file)) continue;
      throw UsageError(fmt::format("'{}' is what is read, and {}; hint: choose another name", shown(file), left));
    }
  };
  Setup alone = setup;  // for one list by itself, which so also has the rows that a join leaves out
  alone.report = {};
  alone.mix.clear();
  const auto expect_unread = [&](const auto& source) {
    std::vector<std::string> names;
    if constexpr (requires { names = source.files; }) names = source.files;
    if (!names.empty()) names = expand_files(names, setup.file_system, setup.limits);
    if constexpr (requires { source.scp_files; })
      names.insert(names.end(), source.scp_files.begin(), source.scp_files.end());
    std::for_each(names.begin(), names.end(), expect_other);
    using Options = std::decay_t<decltype(source)>;
    if constexpr (std::is_same_v<Options, HtkOptions> || std::is_same_v<Options, KaldiOptions>) {
      alone.sources = {source};
      expect_unnamed(*open_sources(alone), expect_other);
    }
  };
  Setup all = setup;
  for (const SourceOptions* source : sources_of(all)) std::visit(expect_unread, *source);
}

void expect_own(const std::string& target, std::string_view beginning, const char* kind, std::string_view mark) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(target, none) || std::filesystem::file_size(target, none) == 0) return;
  std::ifstream file(target, std::ios::binary);
  std::string found(beginning.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  const std::string rest =
      found == beginning && !mark.empty() ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
  if (found == beginning && rest.find(mark) != rest.npos) return;
  throw UsageError(fmt::format("'{}' exists already and is no {}; hint: choose another name", shown(target), kind));
}

void cut_small(Setup& setup) {
  for (SourceOptions& source : setup.sources) {
    if (auto* const text = std::get_if<CtfOptions>(&source); text != nullptr)
      text->chunk_bytes = std::min<std::uint64_t>(text->chunk_bytes, std::uint64_t{4} << 20);
  }
}

std::unique_ptr<Source> open_for_conversion(const CorpusArguments& arguments, Console& console, Setup* setup) {
  Corpus corpus = load_corpus(arguments, console);
  if (setup != nullptr) *setup = corpus.setup;
  return open_for_conversion(std::move(corpus), arguments, console);
}

std::unique_ptr<Source> open_for_conversion(Corpus corpus, const CorpusArguments& arguments, Console& console) {
  corpus.setup.progress = indexing(arguments, console);  // loading another corpus may have replaced it
  cut_small(corpus.setup);
  try {
    return open_sources(corpus.setup);
  } catch (const Error& error) {
    auto* binary = corpus.setup.sources.size() == 1 ? std::get_if<CbfOptions>(&corpus.setup.sources.front()) : nullptr;
    // A single binary file is opened in the precision that it has.
    if (binary == nullptr || corpus.format != Format::cbf || arguments.precision ||
        error.fault().id != "cbf.precision-mismatch")
      throw;
    binary->element = Element::f64;
    binary->convert_element = true;
    return open_sources(corpus.setup);
  }
}

int run_conversion(const Source& source, const std::string& target, ConvertOptions options, bool json,
                   Console& console) {
  const auto began = std::chrono::steady_clock::now();
  console.clear_progress();
  interrupt::deferred(true);
  options.progress = interrupt::at_steps(
      console.progress(fmt::format("writing {}", printable(std::filesystem::path(target).filename().string()))));
  options.report = console.report();
  const ConvertResult result = as_asked([&] { return convert(source, target, options); });
  console.clear_progress();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  Output output;
  if (json) {
    ordered_json streams = ordered_json::array();
    for (const StreamInfo& s : result.streams) {
      streams.push_back(
          {{"name", s.name}, {"storage", name(s.storage)}, {"dim", s.dim}, {"precision", precision_of(s.element)}});
    }
    output.append(dump({{"target", target},
                        {"format", std::string(name(options.to))},
                        {"streams", std::move(streams)},
                        {"sequences", result.sequences},
                        {"samples", result.samples},
                        {"left_out", result.left_out},
                        {"bytes", result.bytes},
                        {"keys", result.keys},
                        {"verified", result.verified},
                        {"seconds", seconds}},
                       2) +
                  "\n");
  } else {
    output.append(
        fmt::format("{}: {}, {}, {} in {}{}{}\n", shown(target), plural(result.sequences, "sequence"),
                    plural(result.samples, "sample"), bytes_text(result.bytes), seconds_text(seconds),
                    result.verified ? "; verified" : "",
                    result.left_out == 0 ? "" : fmt::format("; {} left out", plural(result.left_out, "sequence"))));
  }
  output.flush();
  return kDone;
}

Run add_convert(CLI::App& app, Console& console) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App& command =
      add_command(app, "convert", "Writes a corpus in another format, layout, order or precision",
                  "batchfeed convert train.ctf train.cbf\n"
                  "batchfeed convert train.cbf train.ctf --verify\n"
                  "batchfeed convert train.ctf.gz train.ctf.zst    # zstd that can be read from the middle\n"
                  "batchfeed convert train.cntk train.cbf --section Train.reader --shuffle 1\n"
                  "batchfeed convert outputs.ctf outputs.scp       # HTK features\n"
                  "batchfeed convert train.cntk train.mlf --streams labels\n"
                  "batchfeed convert old.bin new.cbf --chunk-size 64M      # cut anew");
  a->corpus.add_to(command, false);
  command.get_option("file")
      ->description("A .cntk configuration or corpus files, then the file to write")
      ->type_name("CONFIG|FILE TARGET");
  const char* const group = "Target";
  command
      .add_option("--to", a->to,
                  "cbf, ctf, scp (HTK features and their list), htk (one utterance) or mlf (labels); default: by the "
                  "target's name")
      ->check(CLI::IsMember({"cbf", "ctf", "scp", "htk", "mlf"}))
      ->type_name("FORMAT")
      ->group(group);
  command
      .add_option("--layout", a->layout,
                  "cbf: modern, or legacy for the first readers; scp: archive, or files for one an utterance; mlf: "
                  "text or binary")
      ->check(CLI::IsMember({"modern", "legacy", "archive", "files", "text", "binary"}))
      ->type_name("LAYOUT")
      ->group(group);
  command.add_option("--chunk-size", a->chunk_size, "Bytes of a binary chunk (default 32M)")
      ->type_name("BYTES")
      ->group(group);
  a->header.add_to(command, group);
  command.add_option("--streams", a->streams, "Streams to keep, in this order (default: all)")
      ->delimiter(',')
      ->type_name("A,B")
      ->group(group);
  command.add_option("--rename", a->renames, "New name of a stream; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("OLD=NEW")
      ->group(group);
  command
      .add_option("--keys", a->keys,
                  "keep, number, none, or auto (default), which keeps the ids of text in text, and in other "
                  "formats keys that are not just 0, 1, 2 ...")
      ->check(CLI::IsMember({"auto", "keep", "number", "none"}))
      ->type_name("HOW")
      ->group(group);
  command.add_option("--shuffle", a->shuffle, "Write all sequences in random order")->type_name("SEED")->group(group);
  command.add_option("--shuffle-memory", a->shuffle_memory, "Bytes shuffled at a time (default 256M)")
      ->type_name("BYTES")
      ->group(group);
  command.add_flag("--force", a->force, "Replace the target if it exists")->group(group);
  command.add_flag("--verify", a->verify, "Read the target back and compare")->group(group);
  command.add_option("-j,--jobs", a->jobs, "Threads that read and encode (default: one per core)")->type_name("N");
  command.add_flag("--json", a->json, "As JSON");
  return [a, &console] { return run_convert(*a, console); };
}

}  // namespace batchfeed::cli
