// SPDX-License-Identifier: MIT
#include "formats/kaldi/infer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "formats/kaldi/index.h"
#include "io/lines.h"

namespace batchfeed::kaldi {
namespace {

constexpr int kTries = 1000;  // files of a list that are looked for

std::string bytes_at(const io::File& file, std::uint64_t offset, const Limits& limits) {
  if (offset >= file.size()) return {};
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file.size() - offset, limits.key_bytes + 64)),
                   '\0');
  file.read(offset, std::as_writable_bytes(std::span(head)));
  return head;
}

// The first bytes of the first object of an archive, or of a list the first whose file is there, without its key.
std::string first_object(const std::string& path, const OpenContext& context) {
  const Limits& limits = context.limits;
  if (!is_list(path)) {
    std::string head = bytes_at(io::File(path, context.file_system), 0, limits);
    const std::size_t from = std::min(head.find_first_not_of(" \t\r\n"), head.size());
    head.erase(0, std::min(head.find_first_of(" \t\r\n", from), head.size() - 1) + 1);
    return head;
  }
  const io::File list(path, context.file_system, context.limits);
  io::LineReader lines(list, io::LineEnd::any, limits.list_line_bytes, "list_line_bytes");
  for (int tried = 0; tried < kTries && lines.next();) {
    if (lines.text().find_first_not_of(" \t") == std::string_view::npos) continue;
    ++tried;
    const Position at{.file = path, .byte = lines.begin(), .line = lines.number(), .has_byte = true};
    try {
      const ScpLine entry = parse_scp_line(lines.text(), at, limits);
      return bytes_at(io::File(entry.path, context.file_system), entry.offset, limits);
    } catch (const Error&) {  // given again when the list is opened
    }
  }
  return {};
}

}  // namespace

bool holds_alignments(const std::string& path, const OpenContext& context) {
  const std::string object = first_object(path, context);
  if (object.starts_with(std::string_view("\0B", 2))) return object.size() > 2 && object[2] == '\4';
  const std::size_t word = object.find_first_not_of(" \t");
  return word != object.npos && object[word] != '[';
}

std::uint64_t count_classes(const KaldiOptions& options, const OpenContext& context) {
  FaultSink quiet(options.files.front(), ~0ull, 0, {});
  OpenContext alone = context;
  alone.keys = std::make_shared<KeyTable>(KeyMode::text);
  alone.report = {};
  Index index;
  try {
    index = build_index(options, alone, quiet);
  } catch (const Error&) {  // the fault is given again when the files are opened
    return 1;
  }
  std::uint64_t classes = 0;
  // In the order of the file, so that rows named by several ranges are read once.
  std::sort(index.entries.begin(), index.entries.end(), before_in_file);
  std::vector<std::int32_t> labels;
  Buffer<std::byte> scratch;
  std::optional<io::File> file;
  Item item;
  const Entry* last = nullptr;
  std::uint64_t done = 0;  // the object's rows before this one have been counted
  for (const Entry& e : index.entries) {
    if (last == nullptr || last->file != e.file) file.emplace(index.paths[e.file], context.file_system);
    if (last == nullptr || !same_object(*last, e)) {
      item = read_item(*file, e.offset, true, context.limits);
      done = 0;
      if (is_text(item)) {
        labels.resize(static_cast<std::size_t>(item.rows));
        read_text<std::int32_t>(*file, item, {{.count = item.rows, .out = labels.data()}});
      }
    }
    last = &e;
    const std::uint64_t from = std::max<std::uint64_t>(e.first, done),
                        to = std::min(std::uint64_t{e.first} + e.frames, item.rows);
    if (from >= to) continue;
    done = to;
    if (!is_text(item)) {
      labels.resize(static_cast<std::size_t>(to - from));
      read_integers(*file, {}, item, from, to - from, labels.data(), scratch);
    }
    const auto begin = labels.begin() + static_cast<std::ptrdiff_t>(is_text(item) ? from : 0);
    for (const std::int32_t label : std::span(begin, static_cast<std::size_t>(to - from)))
      classes = std::max(classes, label < 0 ? 0 : static_cast<std::uint64_t>(label) + 1);
  }
  return std::max<std::uint64_t>(classes, 1);
}

}  // namespace batchfeed::kaldi
