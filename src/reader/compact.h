// SPDX-License-Identifier: MIT
//
// Chunks in the compact form in which a window keeps them. A dense stream of whole numbers from 0 to 255 (pixels) is
// stored as a byte a value: the chunk is read part by part, so that its floats never leave the cache. Of a sparse
// stream with a single 1 a sample (labels, words) only the indices stay: other buffers are lent to one chunk after
// another.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "pack/gather.h"

namespace batchfeed::reader {

class Compactor {
 public:
  // `reuse`: buffers that a chunk does not keep serve the next one. If false, the memory that a chunk takes does not
  // depend on the chunks read before.
  Compactor(const Source& source, bool reuse);

  // As Source::read(), and fills `known` for each column. The `values` of a narrow dense column are bytes; a narrow
  // sparse one has no meaningful `values` and `first_value`. Which columns are narrow depends on the chunk alone.
  // `rows`: one more than the last that the chunk's table lists. Thread-safe.
  void read(std::uint32_t id, std::uint32_t rows, Chunk& out, std::vector<pack::Plain>& known);

 private:
  // Buffers of a sparse column that are not kept if it is narrow, lent to the chunk that is being read.
  struct Loan {
    bool lent = false;
    Buffer<std::byte> values;
    Buffer<std::uint32_t> first_value;

    void swap(Column& column) noexcept {
      values.swap(column.values);
      first_value.swap(column.first_value);
    }
  };

  std::vector<Loan> lend(Chunk& chunk);
  void take_back(Chunk& chunk, std::vector<pack::Plain>& known, std::vector<Loan> loans);
  bool look(std::uint32_t id, const RowReader& rows, std::vector<pack::Plain>& known) const;
  bool read_parts(std::uint32_t id, const RowReader& rows, Chunk& out, std::vector<pack::Plain>& known);

  const Source& source_;
  const bool reuse_;
  std::mutex mutex_;
  std::vector<Chunk> parts_;              // for reuse
  std::vector<std::vector<Loan>> loans_;  // for reuse; of each, one for every column
  std::vector<bool> lends_;               // by column: false once it was not narrow, as such a chunk keeps the buffers
};

}  // namespace batchfeed::reader
