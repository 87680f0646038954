// SPDX-License-Identifier: MIT
//
// A source whose large chunks are cut, so that what is read, packed and recycled at a
// time stays in the cache. Only for the files' own order, where chunk boundaries play no
// role: the sequences and their order are those of the source, and so is its fingerprint.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model/shared_source.h"

namespace batchfeed {

// How the minibatches of one worker are cut, from the first sequence on; not known where size is 0.
struct Minibatches {
  std::uint64_t size = 0;
  SizeUnit unit = SizeUnit::samples;
};

class Pieces final : public SharedSource {
 public:
  // Cuts chunks that can be read by rows into pieces of one size, at most `bytes` of the file and a
  // sequence, larger ones where a corpus would have too many. They are alike, as a larger last piece
  // would make the memory grow that it reuses.
  // Where minibatches are about as large as such pieces, and chunks far larger, each minibatch that does not span two
  // chunks is a piece: so its buffers can be handed over.
  Pieces(std::shared_ptr<const Source> source, std::uint64_t bytes, Minibatches minibatches = {});

  struct Part {
    std::uint32_t chunk = 0;  // of the source
    RowRange rows = {};       // none: all of it
  };
  const Part& part(std::uint32_t piece) const noexcept { return parts_[piece]; }

  const std::vector<ChunkInfo>& chunks() const override { return pieces_; }
  void sequences(std::uint32_t piece, std::vector<SequenceInfo>& out) const override;
  void read(std::uint32_t piece, Chunk& out) const override;
  const RowReader* row_reader(std::uint32_t /*piece*/) const override { return nullptr; }
  Place place(std::uint32_t piece, std::uint32_t row) const override;
  std::vector<Place> places(std::uint32_t piece, std::uint32_t row) const override;

 private:
  static constexpr std::uint64_t kMost = 1u << 18;  // some 25 MB of tables in all
  static constexpr std::uint64_t kExpanded = 12;    // bytes in memory of a sample that has none in the file: of a label

  void cut(std::uint32_t chunk, std::uint64_t parts);
  std::uint64_t measure(const ChunkInfo& chunk) const noexcept;
  bool may_be_pieces(std::uint64_t bytes) const;

  Minibatches minibatches_;   // that pieces are cut as; size 0: they are not
  std::uint64_t filled_ = 0;  // size so far of the minibatch being cut
  std::vector<ChunkInfo> pieces_;
  std::vector<Part> parts_;  // as pieces_
};

}  // namespace batchfeed
