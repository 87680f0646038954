// SPDX-License-Identifier: MIT
//
// A source that reads any rows of a chunk, for which a whole chunk is just all of them:
// where every row is a sequence.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <vector>

namespace batchfeed {

class RowSource : public Source, protected RowReader {
 public:
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const final { table(chunk, all(chunk), out); }
  void read(std::uint32_t chunk, Chunk& out) const final { fetch(chunk, all(chunk), out); }

 protected:
  // What row_reader() gives for a chunk that may be cut.
  const RowReader* by_rows() const noexcept { return this; }

  // RowReader says what these give.
  virtual void table(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const = 0;
  virtual void fetch(std::uint32_t chunk, RowRange rows, Chunk& out) const = 0;

 private:
  RowRange all(std::uint32_t chunk) const { return {0, static_cast<std::uint32_t>(chunks()[chunk].sequences)}; }
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const final {
    table(chunk, rows, out);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const final { fetch(chunk, rows, out); }
};

}  // namespace batchfeed
