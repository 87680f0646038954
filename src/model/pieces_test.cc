// SPDX-License-Identifier: MIT
#include "model/pieces.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace batchfeed {
namespace {

// Chunks of so many sequences of one sample, of 100 bytes each.
class Samples final : public Source, private RowReader {
 public:
  explicit Samples(const std::vector<std::uint32_t>& chunks) {
    for (const std::uint32_t n : chunks) chunks_.push_back({.sequences = n, .samples = n, .bytes = 100 * n});
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    sequences(chunk, {0, static_cast<std::uint32_t>(chunks_[chunk].sequences)}, out);
  }
  void read(std::uint32_t /*chunk*/, Chunk& out) const override { out.reset(streams_); }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return this; }

 private:
  void sequences(std::uint32_t /*chunk*/, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (std::uint32_t row = 0; row < rows.last - rows.first; ++row)
      out.push_back({.key = rows.first + row, .row = row, .samples = 1});
  }
  void read(std::uint32_t chunk, RowRange /*rows*/, Chunk& out) const override { read(chunk, out); }

  std::vector<StreamInfo> streams_ = {{.name = "x", .dim = 1}};
  std::vector<ChunkInfo> chunks_;
};

// Minibatches span chunks, whole ones too, and the next chunk is cut where they end.
TEST(Pieces, AreMinibatchesBehindAChunkThatIsNotCut) {
  const std::vector<std::uint32_t> chunks = {1000, 7, 1000, 1000};
  for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::sequences}) {
    const Pieces pieces(std::make_shared<Samples>(chunks), 6400, {.size = 64, .unit = unit});
    std::uint64_t end = 0, cut = 0;
    for (std::uint32_t p = 0; p < pieces.chunks().size(); ++p) {
      end += pieces.chunks()[p].samples;
      const std::uint32_t chunk = pieces.part(p).chunk;
      const bool last = p + 1 == pieces.chunks().size() || pieces.part(p + 1).chunk != chunk;
      EXPECT_TRUE(last || end % 64 == 0) << "piece " << p << " of chunk " << chunk << " ends at " << end;
      cut += end % 64 == 0 ? 1 : 0;
    }
    EXPECT_EQ(end, 3007u);
    EXPECT_EQ(cut, 46u) << "of 46 full minibatches";
  }
}

}  // namespace
}  // namespace batchfeed
