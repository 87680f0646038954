// SPDX-License-Identifier: MIT
//
// Chunks as a window keeps them: dense streams of whole numbers from 0 to 255, as pixels are, in a byte each.
// The chunk is read part by part, so that floats are only in the cache.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "pack/gather.h"

namespace batchfeed::reader {

class Compactor {
 public:
  explicit Compactor(const Source& source) : source_(source) {}

  // As Source::read(), and what is known of the columns. `values` of a narrow one are bytes. What is narrow depends
  // on the chunk alone. Thread-safe.
  void read(std::uint32_t id, Chunk& out, std::vector<pack::Plain>& known);

 private:
  bool look(std::uint32_t id, const RowReader& rows, std::vector<pack::Plain>& known) const;
  void read_parts(std::uint32_t id, const RowReader& rows, Chunk& out, std::vector<pack::Plain>& known);

  const Source& source_;
  std::mutex mutex_;
  std::vector<Chunk> parts_;  // for reuse
};

}  // namespace batchfeed::reader
