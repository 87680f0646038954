// SPDX-License-Identifier: MIT
//
// A number that stands for one sequence: its key, lengths, values and indices,
// entries of a sparse sample in any order. Equal for a corpus and its faithful
// copy in another format.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace batchfeed {

class RowHash {
 public:
  // Zeros of samples that the other format stores in another way. added: a sparse sample has the hash of the dense
  // sample with the same values; of a repeated index the last one counts. left_out: zeros do not count in either
  // storage, as where a sample is one label.
  enum class Zeros : std::uint8_t { as_stored, added, left_out };
  explicit RowHash(Zeros zeros = Zeros::as_stored) : zeros_(zeros) {}
  std::uint64_t operator()(const Chunk& chunk, std::uint32_t row, std::string_view key);

 private:
  std::uint64_t with_zeros(const Column& column, std::size_t begin, std::size_t end);
  std::uint64_t sparse_sample(const Column& column, std::size_t begin, std::size_t end);

  Zeros zeros_;
  std::vector<std::byte> sample_;  // with its zeros
  // The last sample that had a single value, and its hash.
  std::int32_t last_index_ = 0;
  std::uint64_t last_value_ = 0, last_ = 0;
  std::size_t last_width_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace batchfeed
