// SPDX-License-Identifier: MIT
//
// Values on their way from the file to a column: copied, or converted where the
// stream is delivered in the other precision.
#include <bit>

#include "formats/cbf/decode.h"

namespace batchfeed::cbf {
namespace {

template <class From, class To>
void convert(const std::byte* from, std::byte* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const To value = static_cast<To>(load<From>(from + i * sizeof(From)));
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
}

}  // namespace

void convert_values(const std::byte* from, Element stored, std::byte* to, Element wanted, std::size_t n) {
  if (stored == wanted && std::endian::native == std::endian::little) {
    if (n != 0) std::memcpy(to, from, n * size_of(stored));
  } else if (stored == Element::f32) {
    wanted == Element::f32 ? convert<float, float>(from, to, n) : convert<float, double>(from, to, n);
  } else {
    wanted == Element::f32 ? convert<double, float>(from, to, n) : convert<double, double>(from, to, n);
  }
}

void append_values(Feed& feed, std::uint64_t n, Element stored, Column& column) {
  const std::size_t width = size_of(column.element);
  const std::size_t old = column.values.size();
  column.values.resize(old + static_cast<std::size_t>(n) * width);
  std::byte* to = column.values.data() + old;
  if (stored == column.element && std::endian::native == std::endian::little) {
    feed.copy(to, n * width);
    return;
  }
  while (n > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(n, Feed::kPiece / 8));
    convert_values(feed.next(part * size_of(stored)), stored, to, column.element, part);
    to += part * width;
    n -= part;
  }
}

}  // namespace batchfeed::cbf
