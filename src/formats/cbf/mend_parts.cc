// SPDX-License-Identifier: MIT
#include "formats/cbf/mend_parts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace batchfeed::cbf {

void MendedCopy::upto(std::uint64_t end) {
  while (at_ < end) {
    piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(1u << 20, end - at_)));
    file_.read(at_, std::as_writable_bytes(std::span(piece_)));
    target_.append(std::string_view(piece_));
    at_ += piece_.size();
    if (options_.progress) options_.progress(file_.size() + at_, 2 * file_.size());
  }
}

void MendedCopy::replace(std::uint64_t end, std::span<const std::byte> bytes) {
  target_.append(bytes);
  at_ = end;
}

void MendedCopy::note(Fix& fix, std::uint64_t byte) const {
  if (fix.count++ < options_.most) fix.places.push_back({.file = file_.path(), .byte = byte, .has_byte = true});
}

void MendedCopy::give_up(std::uint64_t byte, const std::string& what) const {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "fix.not-without-guessing",
                    .at = {.file = file_.path(), .byte = byte, .has_byte = true},
                    .what = "the chunk table cannot be computed: " + what,
                    .hint = "write the file again from where it came"});
}

bool Entries::sort(std::size_t first, std::size_t last) {
  bool in_order = true;
  for (std::size_t i = first + 1; i < last && in_order; ++i) in_order = index(i - 1) <= index(i);
  if (in_order) return false;
  std::vector<std::size_t> order(last - first);
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return index(a) < index(b); });
  std::vector<std::byte> sorted_values(order.size() * width), sorted_indices(order.size() * 4);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(sorted_values.data() + i * width, values.data() + order[i] * width, width);
    std::memcpy(sorted_indices.data() + i * 4, indices.data() + order[i] * 4, 4);
  }
  std::copy(sorted_values.begin(), sorted_values.end(), values.begin() + static_cast<std::ptrdiff_t>(first * width));
  std::copy(sorted_indices.begin(), sorted_indices.end(), indices.begin() + static_cast<std::ptrdiff_t>(first * 4));
  return true;
}

}  // namespace batchfeed::cbf
