// SPDX-License-Identifier: MIT
#include "formats/mlf/infer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/text_table.h"
#include "formats/mlf/binary.h"
#include "formats/mlf/index.h"
#include "formats/mlf/states.h"
#include "io/lines.h"

namespace batchfeed::mlf {
namespace {

struct Seen {
  TextTable names;
  std::uint64_t counted = 0;  // names for which room was taken
  std::uint64_t classes = 0;  // one more than the largest class
  bool numbered = true;       // all lines have four columns, the last a class
};

bool is_binary(const io::File& file) {
  std::array<char, 3> magic{};
  if (file.size() < magic.size()) return false;
  file.read(0, std::as_writable_bytes(std::span(magic)));
  return std::string_view(magic.data(), magic.size()) == "MLF";
}

// About the bytes that an inferred name takes beside its text: in the options, and in the StateList made of them.
constexpr std::uint64_t kName = 160;

void look_at_line(const io::LineReader& lines, const std::string& file, io::IndexRoom& room, Seen& seen) {
  const std::string_view line = lines.text();
  std::array<std::string_view, 5> columns;
  std::size_t n = 0;
  for (std::size_t from = 0; n < columns.size();) {
    from = line.find_first_not_of(" \t", from);
    if (from == line.npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t", from), line.size());
    columns[n++] = line.substr(from, end - from);
    from = end;
  }
  if (n >= 3 && seen.names.number(columns[2]) + 1 == seen.names.size() && seen.names.size() > seen.counted) {
    seen.counted = seen.names.size();
    room.take(kName + 3 * columns[2].size(),
              {.file = file, .byte = lines.begin(), .line = lines.number(), .column = 1, .has_byte = true});
  }
  std::uint16_t number = 0;
  const char* const end = columns[3].data() + columns[3].size();
  if (n == 4 && std::from_chars(columns[3].data(), end, number).ptr == end) {
    seen.classes = std::max<std::uint64_t>(seen.classes, number + 1u);
  } else {
    seen.numbered = false;
  }
}

void look_at_text(const io::File& file, const OpenContext& context, Seen& seen) try {
  io::LineReader lines(file, io::LineEnd::lf, context.limits.list_line_bytes, "list_line_bytes");
  io::IndexRoom room(file, context.limits);
  bool inside = false;
  while (lines.next()) {
    const std::string_view line = lines.text();
    if (line.find_first_not_of(" \t") == line.npos) continue;
    if (is_end_line(line)) {
      inside = false;
    } else if (inside) {
      look_at_line(lines, file.path(), room, seen);
    } else {
      inside = line.find("#!MLF!#") == line.npos;
    }
    // One name above the limit is enough: opening the source then gives the fault.
    if (seen.names.size() > context.limits.mlf_states) return;
  }
} catch (const Error&) {
  expect_lf(file);
  throw;
}

void look_at_binary(const MlfOptions& options, const io::File& file, const OpenContext& context, Seen& seen) {
  FaultSink quiet(file.path(), ~0ull, 0, {});
  OpenContext alone = context;
  alone.keys = std::make_shared<KeyTable>(KeyMode::text);
  alone.report = {};
  IndexBuilder builder(options, alone, quiet);
  index_binary(file, builder);
  const MlfIndex index = builder.finish();
  Labels labels;
  std::vector<std::byte> bytes;
  for (const IndexEntry& e : index.entries) {
    bytes.resize(static_cast<std::size_t>(e.bytes));
    file.read(e.begin, bytes);
    try {
      parse_binary(bytes, {.file = file.path(), .byte = e.begin, .has_byte = true}, "", e.samples, 65536, labels);
    } catch (const Error&) {
      continue;  // the fault is given when the file is read
    }
    for (const Segment& s : labels.segments) seen.classes = std::max<std::uint64_t>(seen.classes, s.state + 1u);
  }
}

}  // namespace

void infer(MlfOptions& options, const OpenContext& context) {
  Seen seen;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    const io::File file(options.files[i], context.file_system, context.limits);
    const bool binary = is_binary(file);
    if (i > 0 && binary != options.binary) {
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "mlf.mixed",
                        .at = {.file = file.path()},
                        .what = "text and binary label files together",
                        .hint = "name files of one form"});
    }
    options.binary = binary;
    binary ? look_at_binary(options, file, context, seen) : look_at_text(file, context, seen);
  }
  if (!options.binary && options.labels.empty() && options.mapping_file.empty() && !seen.numbered) {
    for (std::uint64_t i = 0; i < seen.names.size(); ++i) options.labels.emplace_back(seen.names[i]);
    std::sort(options.labels.begin(), options.labels.end());
  }
  options.dim = std::max<std::uint64_t>(seen.classes, 1);
  if (!options.labels.empty()) options.dim = options.labels.size();
  if (!options.mapping_file.empty())
    options.dim = StateList(options.mapping_file, context.limits, context.file_system).size();
  options.inferred = options.mapping_file.empty();
}

}  // namespace batchfeed::mlf
