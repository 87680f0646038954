// SPDX-License-Identifier: MIT
//
// Some streams of a source, in another order and under other names.
#pragma once

#include <batchfeed/source.h>

#include <string>
#include <utility>
#include <vector>

namespace batchfeed {

// The source must outlive it.
class Selected final : public Source {
 public:
  // `keep` in this order, all if empty; then `renames` (from, to). Throws
  // Error(usage) for names that are not there or not unique afterwards.
  Selected(const Source& source, const std::vector<std::string>& keep,
           const std::vector<std::pair<std::string, std::string>>& renames);

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return source_.chunks(); }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { source_.sequences(chunk, out); }
  void read(std::uint32_t chunk, Chunk& out) const override;
  std::string key_text(std::uint64_t key) const override { return source_.key_text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override { return source_.place(chunk, row); }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    return source_.places(chunk, row);
  }

 private:
  const Source& source_;
  std::vector<std::size_t> from_;
  std::vector<StreamInfo> streams_;
};

}  // namespace batchfeed
