// SPDX-License-Identifier: MIT
#include "formats/mlf/states.h"

#include <batchfeed/error.h>

#include <algorithm>

#include "base/byte_order_mark.h"
#include "base/counted.h"
#include "base/saturate.h"
#include "io/file.h"
#include "io/lines.h"

namespace batchfeed::mlf {
namespace {

// Calls line(text, number, byte) for each line that is not empty. A UTF-8 byte order mark is passed over.
template <class Each>
void each_line(std::string_view text, Each line) {
  std::uint64_t number = 1;
  for (std::size_t at = utf8_mark_bytes(text); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    if (end > at) line(text.substr(at, end - at), number, at);
    const bool crlf = text.substr(end).starts_with("\r\n");
    at = end + (crlf ? 2 : 1);
    ++number;
  }
}

// `column` counts from 0; `byte` is where the line begins.
[[noreturn]] void fail(const std::string& path, std::uint64_t line, std::uint64_t byte, std::size_t column,
                       const char* id, std::string what, std::string hint = {}) {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = id,
                    .at = {.file = path, .byte = byte + column, .line = line, .column = column + 1, .has_byte = true},
                    .what = std::move(what),
                    .hint = std::move(hint)});
}

[[noreturn]] void fail(const std::string& path, const char* id, std::string what, std::string hint = {}) {
  throw Error(Fault{
      .kind = FaultKind::format, .id = id, .at = {.file = path}, .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

StateList::StateList(const std::string& path, const Limits& limits, const FileSystem& file_system)
    : text_(io::read_whole(path, mul_sat(limits.mlf_states, 256), "mlf_states", file_system)) {
  io::expect_text(text_, path);
  split(path, limits);
}

StateList::StateList(const std::vector<std::string>& names, const std::string& place, const Limits& limits) {
  for (const std::string& name : names) text_.append(name).push_back('\n');
  split(place, limits);
}

void StateList::split(const std::string& path, const Limits& limits) {
  each_line(text_, [&](std::string_view name, std::uint64_t number, std::size_t byte) {
    if (name.size() > limits.list_line_bytes) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.line",
                        .at = {.file = path, .byte = byte, .line = number, .has_byte = true},
                        .what = "the line has more than " + counted(limits.list_line_bytes, "byte"),
                        .hint = "is this a text file? else raise limits.list_line_bytes"});
    }
    if (names_.size() >= limits.mlf_states) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.mlf-states",
                        .at = {.file = path, .byte = byte, .line = number, .has_byte = true},
                        .what = "more than " + counted(limits.mlf_states, "label"),
                        .hint = "raise limits.mlf_states"});
    }
    if (!classes_.emplace(name, static_cast<std::uint32_t>(names_.size())).second) {
      fail(path, number, byte, 0, "mlf.repeated-state",
           "label '" + std::string(name) + "' occurs here a second time; it was class " +
               std::to_string(classes_.at(name)));
    }
    names_.push_back(name);
  });
  if (names_.empty()) fail(path, "mlf.no-states", "there is no label in it", "write one label a line");
}

std::uint64_t StateList::line(std::size_t state) const {
  std::uint64_t out = 0;
  each_line(text_, [&](std::string_view name, std::uint64_t number, std::size_t) {
    if (name.data() == names_[state].data()) out = number;
  });
  return out;
}

std::vector<std::vector<std::int32_t>> read_targets(const std::string& path, const StateList& states, std::uint64_t dim,
                                                    const Limits& limits, const FileSystem& file_system) {
  const std::string text =
      io::read_whole(path, mul_sat(states.size(), add_sat(limits.key_bytes, dim)), "key_bytes", file_system);
  io::expect_text(text, path);
  std::vector<std::vector<std::int32_t>> targets;
  each_line(text, [&](std::string_view line, std::uint64_t number, std::size_t byte) {
    const std::size_t blank = line.find_first_of(" \t");
    const std::string_view name = line.substr(0, blank);
    if (targets.size() == states.size())
      fail(path, number, byte, 0, "mlf.targets",
           "more lines than the " + counted(states.size(), "label") + " of the state list");
    if (name != states.name(targets.size())) {
      fail(path, number, byte, 0, "mlf.targets",
           "label '" + std::string(name) + "', expected '" + std::string(states.name(targets.size())) + "'",
           "lines must come in the order of the state list");
    }
    const std::size_t from = std::min(line.find_first_not_of(" \t", name.size()), line.size());
    const std::string_view rest = line.substr(from), bits = rest.substr(0, rest.find_last_not_of(" \t") + 1);
    if (bits.size() != dim)
      fail(path, number, byte, from, "mlf.targets",
           "a target of " + counted(bits.size(), "bit") + ", targetDim is " + std::to_string(dim));
    std::vector<std::int32_t>& ones = targets.emplace_back();
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (bits[i] != '0' && bits[i] != '1')
        fail(path, number, byte, from + i, "mlf.targets",
             "'" + std::string(1, bits[i]) + "' in a target, expected 0 or 1");
      if (bits[i] == '1') ones.push_back(static_cast<std::int32_t>(i));
    }
  });
  if (targets.size() != states.size()) {
    fail(path, "mlf.targets",
         "targets for " + counted(targets.size(), "label") + ", the state list has " + std::to_string(states.size()));
  }
  return targets;
}

}  // namespace batchfeed::mlf
