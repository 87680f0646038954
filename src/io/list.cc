// SPDX-License-Identifier: MIT
#include "io/list.h"

#include "base/byte_order_mark.h"
#include "base/counted.h"

namespace batchfeed::io {

ListReader::ListReader(const File& list, std::uint64_t& entries, const std::vector<std::string>& paths,
                       const Limits& limits)
    : limits_(limits),
      entries_(entries),
      paths_(paths),
      lines_(list, LineEnd::any, limits.list_line_bytes, "list_line_bytes"),
      room_(list, limits),
      at_{.file = list.path(), .has_byte = true} {}

bool ListReader::next() {
  while (lines_.next()) {
    text_ = lines_.text();
    at_.byte = lines_.begin();
    at_.line = lines_.number();
    at_.column = 1;
    if (const std::size_t mark = at_.line == 1 ? utf8_mark_bytes(text_) : 0; mark != 0) {
      text_.remove_prefix(mark);
      at_.byte += mark;
    }
    if (text_.find_first_not_of(" \t\v\f\r") == text_.npos) {
      ++blank_lines_;
      continue;
    }
    if (++entries_ > limits_.scp_entries) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.scp-entries",
                        .at = at_,
                        .what = "more than " + counted(limits_.scp_entries, "entry"),
                        .hint = "raise limits.scp_entries"});
    }
    known_ = paths_.size();
    return true;
  }
  return false;
}

void ListReader::keep(std::size_t bytes, std::string_view key) {
  std::uint64_t all = bytes + IndexRoom::kKey + key.size();
  for (; known_ < paths_.size(); ++known_) all += IndexRoom::kPath + 2 * paths_[known_].size();
  room_.take(all, at_);
}

}  // namespace batchfeed::io
