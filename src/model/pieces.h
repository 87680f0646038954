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

// Those of one worker, from the first sequence on; nothing is known of them where size is 0.
struct Minibatches {
  std::uint64_t size = 0;
  SizeUnit unit = SizeUnit::samples;
};

class Pieces final : public SharedSource {
 public:
  // Chunks that can be read by rows are cut into pieces of one size, at most `bytes` of the file and a
  // sequence, larger ones where a corpus would have too many. A last piece that is larger than those in
  // front of it would make their memory grow, which is used again for it.
  // Where minibatches are about as large as such pieces, and chunks far larger, they are the pieces, but for those that
  // span two chunks: so a piece can be handed over as it is.
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
  static constexpr std::uint64_t kExpanded = 12;    // bytes of a sample that takes none of the file: of a label

  void cut(std::uint32_t chunk, std::uint64_t parts);
  std::uint64_t measure(const ChunkInfo& chunk) const noexcept;
  bool may_be_pieces(std::uint64_t bytes) const;

  Minibatches minibatches_;   // that pieces are
  std::uint64_t filled_ = 0;  // of the one that is cut
  std::vector<ChunkInfo> pieces_;
  std::vector<Part> parts_;  // as pieces_
};

}  // namespace batchfeed
