// SPDX-License-Identifier: MIT
//
// Chunks as a window keeps them. Dense streams of whole numbers from 0 to 255, as pixels are, lie in a byte each: the
// chunk is read part by part, so that floats are only in the cache. Of sparse streams with one 1 a sample, as
// labels and words are, only the indices stay: what else is read goes where that of the next chunk goes.
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
  // `reuse`: memory for what is not kept is; else what a chunk takes depends on nothing that was read before.
  Compactor(const Source& source, bool reuse);

  // As Source::read(), and what is known of the columns. `values` of a narrow one are bytes, or it has neither `values`
  // nor `first_value` to look at. What is narrow depends on the chunk alone. Thread-safe.
  void read(std::uint32_t id, Chunk& out, std::vector<pack::Plain>& known);

 private:
  // Memory for what is not kept of a sparse column, if it is lent to the chunk that is read.
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
  void read_parts(std::uint32_t id, const RowReader& rows, Chunk& out, std::vector<pack::Plain>& known);

  const Source& source_;
  const bool reuse_;
  std::mutex mutex_;
  std::vector<Chunk> parts_;              // for reuse
  std::vector<std::vector<Loan>> loans_;  // as well; a column each
  std::vector<bool> lends_;               // to each column: not where other samples were seen, with which loans stay
};

}  // namespace batchfeed::reader
