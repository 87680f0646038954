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
// `integers` tells which text it is. Throws Error(format or limit).
Item read_item(const io::File& file, std::uint64_t offset, bool integers, const Limits& limits);

// Rows [first, first + count) to `out`, cols values each. T: float or double.
template <class T>
void read_rows(const io::File& file, const Item& item, std::uint64_t first, std::uint64_t count, T* out,
               Buffer<std::byte>& scratch);

// Integers [first, first + count). Throws Error(format): one is not 4 bytes.
void read_integers(const io::File& file, const Item& item, std::uint64_t first, std::uint64_t count,
                   std::vector<std::int32_t>& out);

}  // namespace batchfeed::kaldi
