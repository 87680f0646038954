// SPDX-License-Identifier: MIT
//
// What a stream is: one named input of a corpus.
#pragma once

#include <batchfeed/names.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace batchfeed {

enum class Storage : std::uint8_t { dense, sparse };
template <>
struct Names<Storage> {
  static constexpr std::string_view all[] = {"dense", "sparse"};
};

enum class Element : std::uint8_t { f32, f64 };
// As NumPy says; configurations say precision_of().
template <>
struct Names<Element> {
  static constexpr std::string_view all[] = {"float32", "float64"};
};
constexpr std::string_view precision_of(Element e) noexcept { return e == Element::f32 ? "float" : "double"; }
constexpr std::size_t size_of(Element e) noexcept { return e == Element::f32 ? 4 : 8; }

struct StreamInfo {
  std::string name = {};
  std::uint64_t dim = 0;  // values of a dense sample; exclusive bound of sparse indices (then at most 2^31-1)
  Storage storage = Storage::dense;
  Element element = Element::f32;
  bool defines_mb_size = false;  // minibatches are counted in samples of this stream
  // One sample stands for every sample of the sequence it is joined with
  // (expandToUtterance): a join gives it its primary's length.
  bool broadcast = false;

  bool operator==(const StreamInfo&) const = default;
};

}  // namespace batchfeed
