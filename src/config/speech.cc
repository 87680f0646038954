// SPDX-License-Identifier: MIT
#include "config/speech.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/words.h"
#include "config/order_keys.h"
#include "config/parse.h"
#include "config/value.h"
#include "io/lines.h"

namespace batchfeed::config {
namespace {

constexpr std::uint64_t kMostClasses = 65535;

std::pair<std::uint32_t, std::uint32_t> bind_context(Binder& binder, const Value& value) {
  std::vector<std::int32_t> sides;
  for (const Text& element : scan_array(binder.doc(), value.text)) {
    sides.push_back(parse_int_element(binder.doc(), element, value.path));
    if (sides.back() < 0) {
      binder.fail(value, "bad-value", value.path + ": expected 0 or more frames, found " + quoted(element.bytes()));
    }
  }
  if (sides.size() == 2) return {static_cast<std::uint32_t>(sides[0]), static_cast<std::uint32_t>(sides[1])};
  if (sides.size() != 1 || sides[0] % 2 == 0) {
    binder.fail(value, "bad-value",
                value.path + ": expected an odd width or left:right, found " + quoted(value.text.bytes()),
                "a width counts the frame itself: 11 is five on each side, 5:5");
  }
  const auto side = static_cast<std::uint32_t>(sides[0] / 2);
  return {side, side};
}

// The dimension at `key`, at least 1; the key may be inherited. Throws Error.
std::uint64_t bind_dim(Binder& binder, const Section& stream, std::string_view key) {
  const Value value = *binder.value(stream, key);
  if (value.text.empty()) binder.missing(stream, key, value.key_at);
  if (value.text.bytes().starts_with('-')) {
    binder.fail(value, "bad-dim", value.path + ": expected at least 1, found " + quoted(value.text.bytes()));
  }
  const std::uint64_t dim = parse_size(binder.doc(), value.text, value.path);
  if (dim == 0) binder.fail(value, "bad-dim", value.path + ": expected at least 1, found 0");
  if (dim > binder.doc().limits().dim) {
    binder.doc().over_limit(value.at(), "dim", binder.doc().limits().dim, value.path + ": " + std::to_string(dim));
  }
  return dim;
}

// The paths of a list file, one a line, with any line ends; blank lines and a UTF-8 byte order mark are passed over.
std::vector<std::string> read_list(Binder& binder, const Value& value) {
  const std::string path(value.text.bytes());
  std::string content;
  try {
    content = binder.doc().open(path);
    io::expect_text(content, path);
  } catch (const Error& error) {
    Fault fault = error.fault();
    fault.what = value.path + ": list of files " + quoted(path) + ": " + fault.what;
    fault.at = binder.doc().position(value.at());
    throw Error(std::move(fault));
  }
  std::vector<std::string> out;
  Position at{.file = path, .line = 1};
  for (std::size_t begin = utf8_mark_bytes(content); begin < content.size();) {
    const std::size_t end = std::min(content.find_first_of("\r\n", begin), content.size());
    const Span line = trim(content, {begin, end});
    if (line.size() != 0) {
      binder.doc().count_elements(value.at(), 1);
      out.push_back(content.substr(line.begin, line.size()));
      binder.name_file(out.back(), at);
    }
    if (content.compare(end, 2, "\r\n") != 0) ++at.line;  // the LF of a CR LF counts the line
    begin = end + 1;
  }
  if (out.empty()) binder.fail(value, "bad-value", value.path + ": list of files " + quoted(path) + " is empty");
  return out;
}

const Section& input_of(Binder& binder, const Section& element, const std::string& example) {
  const Entry* entry = element.entry("input");
  if (entry == nullptr || entry->value.empty()) binder.missing(element, "input");
  const Section& input = element.child("input");
  if (input.entries().empty()) {
    binder.doc().fail(entry->key_at, "empty-input", input.path() + ": the input section has no stream",
                      "add " + example);
  }
  return input;
}

// A speech deserializer has one stream: the alphabetically first entry, even if
// that is no section but a key that was put there by mistake.
const Section& first_stream(Binder& binder, const Section& input) {
  const auto& [key, first] = *input.entries().begin();
  const std::string_view text = first.value.bytes();
  if (!text.starts_with('[') && !text.starts_with('{')) {
    binder.doc().warn(first.key_at, "key-as-stream",
                      input.path() + ": the alphabetically first entry is the stream, and that is " + quoted(first.key),
                      "put this key into the section of the deserializer");
  } else if (input.entries().size() > 1) {
    binder.doc().warn(std::next(input.entries().begin())->second.key_at, "dead-key",
                      input.path() + ": only the alphabetically first entry, " + quoted(first.key) + ", is used",
                      "give each stream a deserializer of its own");
  }
  return input.child(key);
}

// Whether a value can be a stream's section: it is in brackets, or (in quotes) it has a key that only streams have.
bool may_be_stream(std::string_view text) {
  if (text.starts_with('[') || text.starts_with('{') || text.starts_with('(')) return true;
  if (text.find('=') == std::string_view::npos) return false;
  const std::string words = lower(text);
  return std::ranges::any_of(std::array{"scpfile", "mlffile", "phonefile", "denlattocfile"},
                             [&](const char* key) { return words.find(key) != std::string::npos; });
}

}  // namespace

std::vector<SpeechStream> classify(const Section& reader) {
  std::vector<SpeechStream> out;
  for (const auto& [key, entry] : reader.entries()) {
    if (!may_be_stream(entry.value.bytes())) continue;
    if (out.size() >= reader.doc().limits().streams) {
      reader.doc().over_limit(entry.key_at, "streams", reader.doc().limits().streams,
                              reader.path() + ": too many sections are streams");
    }
    const Section& section = reader.child(key);
    if (section.has("scpFile")) {
      out.push_back({StreamKind::feature, entry.key, &section});
    } else if (section.has("mlfFile") || section.has("mlfFileList")) {
      out.push_back({StreamKind::label, entry.key, &section});
    } else if (section.has("phoneFile")) {
      out.push_back({StreamKind::hmm, entry.key, &section});
    } else if (section.has("denLatTocFile")) {
      out.push_back({StreamKind::lattice, entry.key, &section});
    }
  }
  return out;
}

HtkOptions bind_feature(Binder& binder, const Section& stream, const std::string& name) {
  HtkOptions out;
  out.name = name;
  if (!binder.value(stream, "dim")) binder.missing(stream, "dim");
  binder.attempt([&] { out.dim = bind_dim(binder, stream, "dim"); });
  binder.attempt([&] { out.scp_files = {binder.required(stream, "scpFile")}; });
  out.prefix = normal_prefix(binder.text(stream, "prefixPathInSCP", ""));
  binder.attempt([&] {
    if (const auto context = binder.value(stream, "contextWindow")) out.context = bind_context(binder, *context);
  });
  out.expand_to_utterance = binder.flag(stream, "expandToUtterance", false);
  return out;
}

MlfOptions bind_label(Binder& binder, const Section& stream, const std::string& name, bool list_only) {
  MlfOptions out;
  out.name = name;
  const bool has_label_dim = stream.find("labelDim").has_value();
  if (!has_label_dim && !stream.find("dim")) {
    binder.missing(stream, "labelDim", {}, "add labelDim = the number of classes");
  }
  const std::string_view dim_key = has_label_dim ? "labelDim" : "dim";
  if (!binder.value(stream, dim_key)) binder.missing(stream, dim_key);
  out.dim = bind_dim(binder, stream, dim_key);
  if (out.dim > kMostClasses) {
    const Value value = *stream.find(dim_key);
    binder.fail(value, "bad-dim", value.path + ": expected at most 65535 classes, found " + std::to_string(out.dim));
  }
  if (const auto file = binder.value(stream, "mlfFile", Reach::own)) {
    if (file->text.empty()) binder.missing(stream, "mlfFile", file->key_at);
    out.files = {std::string(file->text.bytes())};
  } else if (const auto list = binder.value(stream, "mlfFileList", Reach::own)) {
    if (list->text.empty()) binder.missing(stream, "mlfFileList", list->key_at);
    const std::string_view paths = list->text.bytes();
    const bool is_array = !list_only && !is_url(paths) && paths.find(':') != std::string_view::npos;
    if (!is_array) {
      out.files = read_list(binder, *list);
    } else {
      out.files = binder.paths(*list);
    }
  } else {
    binder.missing(stream, "mlfFile", {}, "add mlfFile = the label file, or mlfFileList");
  }
  out.mapping_file = binder.text(stream, "labelMappingFile", "");
  return out;
}

std::string normal_prefix(std::string_view prefix) {
  std::string out(prefix);
  for (char& c : out) {
    if (c == '\\') c = '/';
  }
  while (out.ends_with('/')) out.pop_back();
  if (!out.empty()) out += '/';
  return out;
}

std::uint64_t bind_frames_window(Binder& binder, const Section& reader) {
  const auto value = binder.value(reader, "randomize");
  // In commands with action test or eval the default is `none`.
  const Command command = command_of(reader);
  if (command.forces_file_order && !command.writes && !reader.has("randomize")) {
    binder.fallback(reader, "randomize", "none");
    return 0;
  }
  if (!value) {
    binder.fallback(reader, "randomize", "auto");
    return kWholeSet;
  }
  if (same_word(value->text.bytes(), "auto")) return kWholeSet;
  if (same_word(value->text.bytes(), "none")) return 0;
  if (value->text.bytes().find_first_of("0123456789") == std::string_view::npos) {
    binder.fail(*value, "bad-int",
                value->path + ": expected auto, none or a number of samples, found " + quoted(value->text.bytes()),
                "what is true elsewhere is \"auto\" here, and false is \"none\"");
  }
  return std::min(parse_size(binder.doc(), value->text, value->path), kWholeSet);
}

HtkOptions bind_htk_source(Binder& binder, const Section& element, const PushedDown& pushed) {
  binder.check_keys(element, "HTKFeatureDeserializer");
  const Section& input = input_of(binder, element, "features = [ dim = 40 ; scpFile = \"...\" ]");
  const Section& stream = first_stream(binder, input);
  const std::string& name = input.entries().begin()->second.key;
  binder.check_keys(stream, "HTKFeatureDeserializer.input.STREAM");
  HtkOptions out = bind_feature(binder, stream, name);
  out.max_sequence_frames = binder.size(input, "maxSequenceSize", ~0ull);
  out.defines_mb_size = binder.flag(input, "definesMBSize", false);
  out.element = binder.precision(*pushed.reader, true);
  out.frame_mode = pushed.frame_mode;
  out.trace_level = binder.unread_trace_level(element.has("traceLevel") ? element : *pushed.reader);
  binder.expect(Binder::Form::integer, element, "verbosity");
  return out;
}

MlfOptions bind_mlf_source(Binder& binder, const Section& element, const PushedDown& pushed, bool binary) {
  binder.check_keys(element, "HTKMLFDeserializer");
  const Section& input = input_of(binder, element, "labels = [ labelDim = 132 ; mlfFile = \"...\" ]");
  const Section& stream = first_stream(binder, input);
  const std::string& name = input.entries().begin()->second.key;
  binder.check_keys(stream, "HTKMLFDeserializer.input.STREAM");
  MlfOptions out = bind_label(binder, stream, name, false);
  out.binary = binary;
  if (binary && !std::exchange(out.mapping_file, {}).empty()) {
    const Value mapping = *stream.find("labelMappingFile");
    binder.doc().warn(mapping.key_at, "dead-key",
                      mapping.path + ": has no effect on binary label files, which have class numbers", "remove it");
  }
  out.phone_boundaries = binder.flag(stream, "phoneBoundaries", false);
  if (out.phone_boundaries && (binary || pushed.frame_mode)) {
    const Value boundaries = *stream.find("phoneBoundaries");
    binder.fail(boundaries, "conflict",
                stream.path() + ": phoneBoundaries is not for " + (binary ? "binary label files" : "frameMode = true"),
                "remove it");
  }
  out.chunk_bytes = chunk_bytes(binder, element, 64ull << 20, Reach::own);
  if (const auto chunks = binder.value(stream, "chunkSizeInBytes", Reach::own)) {
    binder.doc().warn(chunks->key_at, "dead-key", chunks->path + ": has no effect in the section of the stream",
                      "move it into " + element.path());
  }
  const bool stream_caches = stream.find("cacheIndex").has_value();
  out.cache_index = binder.flag(stream_caches ? stream : *pushed.reader, "cacheIndex", false);
  out.element = binder.precision(*pushed.reader, true);
  out.frame_mode = pushed.frame_mode;
  out.trace_level = binder.unread_trace_level(element.has("traceLevel") ? element : *pushed.reader);
  return out;
}

}  // namespace batchfeed::config
