// SPDX-License-Identifier: MIT
//
// CNTKTextFormatReader and CNTKTextFormatDeserializer.
#include <map>
#include <utility>

#include "config/file_keys.h"
#include "config/parse.h"
#include "config/value.h"

namespace batchfeed::config {
namespace {

constexpr std::string_view kSizing = "definesMBSize";

// Whether a data file can have this name at all.
bool is_matchable(std::string_view alias) {
  if (alias.starts_with('#')) return false;
  for (const char c : alias) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || c == '|') return false;
  }
  return true;
}

Storage storage_of(Binder& binder, const Value& format) {
  if (same_word(format.text.bytes(), "dense")) return Storage::dense;
  if (same_word(format.text.bytes(), "sparse")) return Storage::sparse;
  binder.fail(format, "bad-format", format.path + ": expected dense or sparse, found " + quoted(format.text.bytes()),
              "write format = \"dense\" or \"sparse\"");
}

std::uint64_t dim_of(Binder& binder, const Value& value, Storage storage) {
  Document& doc = binder.doc();
  if (value.text.bytes().starts_with('-')) {
    binder.fail(value, "bad-dim", value.path + ": expected at least 1, found " + quoted(value.text.bytes()));
  }
  const std::uint64_t dim = parse_size(doc, value.text, value.path);
  if (dim == 0) binder.fail(value, "bad-dim", value.path + ": expected at least 1, found 0");
  if (storage == Storage::sparse && dim > 2147483647) {
    binder.fail(
        value, "bad-dim",
        value.path + ": " + std::to_string(dim) + " is too large for a sparse stream, whose indices have 31 bits",
        "the largest is 2147483647");
  }
  if (dim > doc.limits().dim) {
    doc.over_limit(value.at(), "dim", doc.limits().dim, value.path + ": " + std::to_string(dim));
  }
  return dim;
}

StreamSpec bind_stream(Binder& binder, const Section& input, const Entry& entry) {
  Document& doc = binder.doc();
  if (!entry.other_spelling.empty()) {
    doc.fail(entry.other_at, "stream-case",
             input.path() + ": streams " + quoted(entry.key) + " and " + quoted(entry.other_spelling) +
                 " differ only in case and would become one",
             "give one of them another name, and its old name as alias");
  }
  const Section& section = input.child(entry.key);
  binder.check_keys(section, "CNTKTextFormatReader.input.STREAM");  // first: a key that is missing may be misspelt
  StreamSpec stream;
  stream.name = entry.key;
  const auto dim = binder.value(section, "dim", Reach::own);
  const auto format = binder.value(section, "format", Reach::own);
  if (!dim || !format || dim->text.empty() || format->text.empty()) {
    doc.fail(entry.key_at, "missing-required",
             section.path() + ": 'dim' and 'format' are required, " +
                 (dim && !dim->text.empty()         ? "'format' is missing"
                  : format && !format->text.empty() ? "'dim' is missing"
                                                    : "both are missing"),
             "write " + quoted(entry.key + " = [ dim = 10 ; format = \"dense\" ]"));
  }
  binder.attempt([&] { stream.storage = storage_of(binder, *format); });
  binder.attempt([&] { stream.dim = dim_of(binder, *dim, stream.storage); });

  const auto alias = bind_alias(binder, section);
  if (alias) stream.alias = std::string(alias->text.bytes());
  const std::string_view in_file = stream.alias.empty() ? std::string_view(stream.name) : stream.alias;
  if (!is_matchable(in_file)) {
    doc.fail(alias ? alias->at() : entry.key_at, "bad-alias",
             section.path() + ": the name " + quoted(in_file) + " cannot occur in a text file",
             "a name there has no blank, no '|', no control byte, and does not begin with '#'; give alias = the name "
             "in the file");
  }
  if (in_file.size() > doc.limits().name_bytes) {
    doc.over_limit(alias ? alias->at() : entry.key_at, "name_bytes", doc.limits().name_bytes,
                   section.path() + ": the name is too long");
  }
  stream.defines_mb_size = binder.flag(section, kSizing, false, Reach::own);
  if (const auto transforms = binder.value(section, "transforms", Reach::own);
      transforms && !scan_array(doc, transforms->text).empty()) {
    binder.fail(*transforms, "unsupported", transforms->path + ": streams of a text file have no transforms",
                "remove it; transforms belong to image readers, which batchfeed does not have");
  }
  return stream;
}

std::vector<StreamSpec> bind_streams(Binder& binder, const Section& owner) {
  Document& doc = binder.doc();
  const Entry* entry = owner.entry("input");
  if (entry == nullptr) {
    doc.fail(owner.at(), "no-input", owner.path_of("input") + ": no input section; it says which streams the file has",
             "add input = [ name = [ dim = 10 ; format = \"dense\" ] ]");
  }
  if (entry->value.empty()) binder.missing(owner, "input", entry->key_at);
  const Section& input = bind_input(binder, owner, *entry);
  if (input.entries().empty()) {
    doc.fail(entry->key_at, "empty-input", input.path() + ": the input section has no stream",
             "add name = [ dim = 10 ; format = \"dense\" ]");
  }
  // why: the reference would apply it to every stream, which nobody means. check_keys() is told to skip the key.
  if (const auto outside = owner.find(kSizing)) {
    doc.warn(outside->key_at, "dead-key", outside->path + ": has no effect outside the section of a stream",
             "move it into the stream it belongs to");
  }
  std::vector<StreamSpec> streams;
  std::map<std::string, std::string> by_alias;
  const StreamSpec* sizing = nullptr;
  streams.reserve(input.entries().size());
  binder.each(input.entries(), [&](const auto& named) {
    const Entry& stream = named.second;
    streams.push_back(bind_stream(binder, input, stream));
    const StreamSpec& made = streams.back();
    const auto [at, is_new] = by_alias.emplace(made.alias.empty() ? made.name : made.alias, made.name);
    if (!is_new) {
      doc.fail(stream.key_at, "duplicate-alias",
               input.path() + ": streams " + quoted(at->second) + " and " + quoted(made.name) + " both read " +
                   quoted(at->first),
               "give each stream its own alias");
    }
    if (!made.defines_mb_size) return;
    if (sizing != nullptr) {
      doc.fail(
          stream.key_at, "conflict",
          input.path() + ": streams " + quoted(sizing->name) + " and " + quoted(made.name) + " both say definesMBSize",
          "keep it for one of them");
    }
    sizing = &made;
  });
  return streams;
}

}  // namespace

CtfOptions bind_ctf_source(Binder& binder, const Section& section, const PushedDown* pushed) {
  CtfOptions out;
  const Reach reach = pushed != nullptr ? Reach::own : Reach::surprising;
  binder.attempt([&] { out.files = binder.files(section, reach); });
  binder.attempt([&] { out.streams = bind_streams(binder, section); });
  out.element = binder.precision(pushed != nullptr ? *pushed->reader : section, pushed != nullptr);
  // A deserializer inherits no keys from enclosing sections. A key that it lacks is taken from the reader's
  // section, except keys that change chunks or sequences, as in the reference.
  const auto owner = [&](std::string_view key) -> const Section& {
    return pushed != nullptr && !section.has(key) && pushed->reader->has(key) ? *pushed->reader : section;
  };
  out.skip_sequence_ids = binder.flag(section, "skipSequenceIds", false, reach);
  out.max_errors =
      binder.small_count(owner("maxErrors"), "maxErrors", 0, reach, "write a large number to tolerate everything");
  out.trace_level = bind_trace_level(binder, section, pushed, false);
  out.chunk_bytes = chunk_bytes(binder, section, 32ull << 20, reach);
  out.cache_index = binder.flag(owner("cacheIndex"), "cacheIndex", false, reach);
  if (pushed != nullptr) {
    check_ignored_order_keys(binder, section);
    binder.expect(Binder::Form::flag, section, "frameMode");
    binder.check_keys(section, "CNTKTextFormatDeserializer", {lower(kSizing)});
  }
  return out;
}

void bind_ctf_reader(Binder& binder, const Section& reader, Setup& setup) {
  CtfOptions source = bind_ctf_source(binder, reader, nullptr);
  if (binder.flag(reader, "frameMode", false, Reach::surprising)) setup.reader.pack.kind = Packing::frames;
  const std::uint64_t window = (4ull << 30) / source.chunk_bytes;
  bind_own_reader(binder, reader, window, std::move(source), setup);
  binder.check_keys(reader, "CNTKTextFormatReader", {lower(kSizing)});
}

}  // namespace batchfeed::config
