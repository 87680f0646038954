// SPDX-License-Identifier: MIT
//
// `batchfeed info`: what a corpus holds, as a configuration declares it, or as its files
// suggest.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "look.h"
#include "speech.h"
#include "stats.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct InfoArguments {
  CorpusArguments corpus;
  bool json = false;
};

const Inferred::Stream* inferred_stream(const Corpus& corpus, const std::string& name) {
  if (!corpus.inferred) return nullptr;
  for (const Inferred::Stream& stream : corpus.inferred->streams) {
    if (stream.spec.name == name) return &stream;
  }
  return nullptr;
}

std::string streams_text(const Corpus& corpus, const Description& about) {
  std::vector<std::string> head = {"stream", "storage", "dim", "type"};
  if (corpus.inferred) head.insert(head.end(), {"samples", "values", "range"});
  Table table(head);
  for (const StreamInfo& stream : about.streams) {
    std::vector<std::string> row = {printable(stream.name), std::string(name(stream.storage)),
                                    std::to_string(stream.dim), std::string(precision_of(stream.element))};
    if (const Inferred::Stream* seen = inferred_stream(corpus, stream.name)) {
      row.insert(row.end(), {count_text(seen->samples), count_text(seen->values), range_text(*seen)});
    }
    table.row(std::move(row));
  }
  std::string out = table.text();
  for (const StreamInfo& stream : about.streams) {
    const Inferred::Stream* const seen = inferred_stream(corpus, stream.name);
    if (seen != nullptr && seen->odd != 0) {
      out += fmt::format("  {}: {} cannot be read as such; batchfeed check says where\n", printable(stream.name),
                         plural(seen->odd, "sample"));
    }
  }
  return out;
}

std::string chunks_text(const Description& about) {
  std::string out = plural(about.chunks, "chunk");
  if (about.bytes == 0) return out;
  if (about.chunks == 1) return out + fmt::format(" of {}", bytes_text(about.bytes));
  return out +
         fmt::format(" of {} to {}", bytes_text(about.smallest_chunk_bytes), bytes_text(about.largest_chunk_bytes));
}

std::string index_text(const IndexBuild& index) {
  if (index.was_valid) return fmt::format("valid, {}", printable(index.cache, 200));
  if (!index.why.empty()) return fmt::format("not used, {}; batchfeed index builds it again", index.why);
  return "none; batchfeed index builds one";
}

// "train.scp, train.mlf"; of many files the first ones, and how many more there are.
std::string files_text(const std::vector<std::string>& files) {
  constexpr std::size_t kMost = 3;
  std::string out;
  for (std::size_t i = 0; i < files.size() && i < kMost; ++i) out += (i == 0 ? "" : ", ") + printable(files[i], 200);
  return files.size() > kMost ? out + fmt::format(" and {} more", files.size() - kMost) : out;
}

// Whether lines can be written to a terminal as they are.
bool is_printable(std::string lines) {
  std::erase(lines, '\n');
  return printable(lines, std::string::npos) == lines;
}

// The reader section for an inferred corpus; empty, with the reason in `why`, if a section cannot hold one of the
// names.
std::string section_of(const Corpus& corpus, const std::vector<std::string>& files, std::string& why) {
  try {
    return reader_section(files, *corpus.inferred);
  } catch (const Error& error) {
    if (error.fault().id != "infer.no-section") throw;
    why = error.fault().what;
    return {};
  }
}

std::string text(const Corpus& corpus, const InfoArguments& a, const Description& about,
                 const std::vector<IndexBuild>& indexes, const std::vector<SpeechStream>& speech) {
  std::string out = files_text(a.corpus.files);
  if (corpus.config) out += fmt::format(", section {}", corpus.config->section);
  if (corpus.inferred) {
    out += fmt::format(": text format, {}; streams are inferred", !corpus.inferred->has_ids ? "no sequence ids"
                                                                  : corpus.inferred->text_ids
                                                                      ? "sequence ids are words"
                                                                      : "sequence ids are numbers");
  }
  if (corpus.format == Format::cbf) out += ": binary format";
  if (corpus.format == Format::htk || corpus.format == Format::scp) out += ": HTK features";
  if (corpus.format == Format::kaldi) out += ": Kaldi";
  if (corpus.setup.sources.size() > 1 && !corpus.config) out += " and labels, joined by key";
  if (corpus.format == Format::mlf) out += ": MLF labels";
  out += fmt::format("\n\n{}\n", streams_text(corpus, about));
  out += fmt::format("  {}, {} in {}\n", plural(about.sequences, "sequence"), plural(about.samples, "sample"),
                     chunks_text(about));
  const Description::Lengths& lengths = about.lengths;
  if (lengths.min == lengths.max) {
    out += fmt::format("  every sequence has {}\n", plural(lengths.max, "sample"));
  } else {
    out += fmt::format("  samples of a sequence: {} to {}, mean {:.1f}, half up to {}, 90 % up to {}, 99 % up to {}\n",
                       lengths.min, lengths.max, lengths.mean, lengths.p50, lengths.p90, lengths.p99);
  }
  for (const IndexBuild& index : indexes) {
    const std::string of = indexes.size() > 1 ? " of " + printable(index.file, 200) : "";
    out += fmt::format("  index cache{}: {}\n", of, index_text(index));
  }
  if (!speech.empty()) out += speech_text(speech, about);
  if (corpus.inferred) {
    std::string why;
    const std::string section = section_of(corpus, a.corpus.files, why);
    if (section.empty()) {
      out += fmt::format("\nNo reader section can say this: {}\n", printable(why, 300));
    } else if (!is_printable(section)) {
      out += "\nIts names are not for a terminal; batchfeed schema -o FILE writes a reader section with them\n";
    } else {
      out += "\nA reader section for it, with the dims that its values need:\n\n" + section;
    }
  }
  return out;
}

ordered_json stream_json(const Corpus& corpus, const StreamInfo& stream) {
  ordered_json out;
  out["name"] = stream.name;
  out["storage"] = name(stream.storage);
  out["dim"] = stream.dim;
  out["dtype"] = name(stream.element);
  if (const Inferred::Stream* seen = inferred_stream(corpus, stream.name)) {
    out["samples"] = seen->samples;
    out["values"] = seen->values;
    out["min"] = seen->min;
    out["max"] = seen->max;
    out["integral"] = seen->integral;
    out["one_hot"] = seen->one_hot;
    out["odd"] = seen->odd;
  }
  return out;
}

ordered_json json(const Corpus& corpus, const InfoArguments& a, const Description& about,
                  const std::vector<IndexBuild>& indexes, const std::vector<SpeechStream>& speech) {
  ordered_json out;
  out["files"] = a.corpus.files;
  out["format"] = name(corpus.format);
  out["section"] = corpus.config ? ordered_json(corpus.config->section) : ordered_json();
  out["inferred"] = corpus.inferred.has_value();
  out["streams"] = ordered_json::array();
  for (const StreamInfo& stream : about.streams) out["streams"].push_back(stream_json(corpus, stream));
  out["sequences"] = about.sequences;
  out["samples"] = about.samples;
  out["bytes"] = about.bytes;
  out["chunks"] = {{"count", about.chunks},
                   {"smallest_bytes", about.smallest_chunk_bytes},
                   {"largest_bytes", about.largest_chunk_bytes}};
  out["lengths"] = lengths_json(about.lengths);
  out["lengths"]["steps"] = ordered_json::array();
  for (const Description::Step& step : about.steps)
    out["lengths"]["steps"].push_back({{"most", step.most}, {"sequences", step.sequences}});
  if (!speech.empty()) out["speech"] = speech_json(speech);
  out["indexes"] = ordered_json::array();
  for (const IndexBuild& index : indexes) {
    out["indexes"].push_back({{"file", index.file},
                              {"state", index.was_valid     ? "valid"
                                        : index.why.empty() ? "none"
                                                            : "stale"},
                              {"cache", index.was_valid ? ordered_json(index.cache) : ordered_json()},
                              {"why", index.why}});
  }
  if (corpus.inferred) {
    std::string why;
    const std::string section = section_of(corpus, a.corpus.files, why);
    out["reader_section"] = section.empty() ? ordered_json() : ordered_json(section);
  }
  out["notices"] = ordered_json::array();
  for (const Notice& notice : about.notices) out["notices"].push_back(notice_json(notice));
  return out;
}

int run_info(const InfoArguments& a, Console& console) {
  Looked looked = look_at(a.corpus, console);
  Corpus& corpus = looked.corpus;
  const Description about = describe(*looked.source);
  looked.source.reset();  // frees its index, as the functions below open the corpus again
  const std::vector<IndexBuild> indexes = find_indexes(corpus.setup);
  const std::vector<SpeechStream> speech = describe_speech(corpus.setup);
  console.clear_progress();
  looked.damage->tell_rest();
  return put_text(a.json ? dump(json(corpus, a, about, indexes, speech), 2) + "\n"
                         : text(corpus, a, about, indexes, speech));
}

}  // namespace

Run add_info(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App& command =
      add_command(app, "info", "Streams, dimensions, counts and lengths of a corpus",
                  "batchfeed info train.ctf                        # and a reader section to paste\n"
                  "batchfeed info train.cntk --section Train.reader\n"
                  "batchfeed info train.mlf --state-list state.list   # labels with counts, states never seen\n"
                  "batchfeed info train.scp train.mlf              # features and labels, joined by key\n"
                  "batchfeed info train.ctf --json | jq .streams");
  arguments->corpus.add_to(command, false);
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_info(*arguments, console); };
}

}  // namespace batchfeed::cli
