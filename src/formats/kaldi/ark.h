// SPDX-License-Identifier: MIT
//
// One object of a Kaldi archive: a matrix, a vector (one row), or integers.
//   binary  "\0B", then "FM " | "DM ": \4 i32 rows \4 i32 cols, values by rows;
//           "FV " | "DV ": \4 i32 n, values; "CM " | "CM2 " | "CM3 ": f32 least,
//           f32 range, i32 rows, i32 cols, codes; integers: \4 i32 n, n x (\4 i32)
//   text    "[ 1 2 \n 3 4 ]", integers: "1 2 3\n"
// All binary numbers are little-endian.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/block.h"
#include "io/file.h"

namespace batchfeed::kaldi {

enum class Kind : std::uint8_t { f32, f64, cm1, cm2, cm3, integers, text_matrix, text_integers };

struct Item {
  Kind kind = Kind::f32;
  std::uint64_t rows = 0, cols = 0;  // integers: one column
  std::uint64_t data = 0;            // offset behind the sizes
  std::uint64_t end = 0;             // behind the object
  float least = 0, range = 0;        // compressed
};

// The object at `offset` (behind key and blank), with sizes that fit the file.
// `integers`: it is one of integers, not a matrix or vector. A text is read to its end, and the number
// of its bytes goes to `looked_at`, also if it is damaged. `block` may hold bytes of the file already.
// Throws Error(format or limit).
Item read_item(const io::File& file, std::uint64_t offset, bool integers, const Limits& limits,
               const io::Block& block = {}, std::uint64_t* looked_at = nullptr);

// Whether all of an object has to be read for any of its rows.
inline bool is_text(const Item& item) noexcept {
  return item.kind == Kind::text_matrix || item.kind == Kind::text_integers;
}

// Rows of a text that go to `out`.
template <class T>
struct Wanted {
  std::uint64_t first = 0, count = 0;
  T* out = nullptr;
};

// Reads all wanted rows of one text in one pass; `wanted` is sorted by first row. T: float or double, std::int32_t for
// integers.
template <class T>
void read_text(const io::File& file, const Item& item, const std::vector<Wanted<T>>& wanted);

// Rows [first, first + count) of a binary object to `out`, cols values each. T: float or double.
template <class T>
void read_rows(const io::File& file, const io::Block& block, const Item& item, std::uint64_t first, std::uint64_t count,
               T* out, Buffer<std::byte>& scratch);

// Integers [first, first + count) of a binary object. Throws Error(format): one is not 4 bytes.
void read_integers(const io::File& file, const io::Block& block, const Item& item, std::uint64_t first,
                   std::uint64_t count, std::int32_t* out, Buffer<std::byte>& scratch);

}  // namespace batchfeed::kaldi
