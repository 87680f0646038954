// SPDX-License-Identifier: MIT
//
// One stream of one chunk on its way into a column, modern layout, and the words
// for what may be wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/cbf/decode.h"

namespace batchfeed::cbf {

struct StreamJob {
  const Decoder& decoder;
  std::size_t chunk;
  const FileChunk& stored;
  const FileStream& stream;
  const Lengths& lengths;
  Feed& feed;  // stands at the stream's first byte
  Chunk& out;
  Column& column;
  std::uint32_t first = 0;  // number of the first sequence, for messages

  std::string who(std::uint32_t sequence) const;
  void limit_values(std::uint64_t at, std::uint64_t n) const {
    if (n > most_values(decoder.limits)) too_many_values(at, n);
  }
  void limit_samples(std::uint64_t at, std::uint32_t n) const {
    if (n > decoder.limits.sequence_samples) too_long(at, n);
  }
  [[noreturn, gnu::cold]] void truncated(std::uint32_t sequence, std::uint64_t at, std::uint32_t samples,
                                         std::uint64_t bytes) const;
  [[noreturn, gnu::cold]] void too_many_values(std::uint64_t at, std::uint64_t n) const;
  [[noreturn, gnu::cold]] void too_long(std::uint64_t at, std::uint32_t n) const;
};

void decode_dense(const StreamJob& job);
void decode_sparse(const StreamJob& job);

}  // namespace batchfeed::cbf
