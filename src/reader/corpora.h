// SPDX-License-Identifier: MIT
//
// What a reader reads, as its order sees it: one corpus, or several that are
// mixed, and the timeline that options make of them.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::reader {

class Corpora {
 public:
  // Throws Error (config) if the streams of a mixture differ, (format) if there are no samples.
  Corpora(std::vector<std::shared_ptr<const Source>> parts, Packing packing);

  const std::shared_ptr<const Source>& source() const noexcept { return source_; }  // all parts, one behind the other
  const order::Corpus& whole() const noexcept { return whole_; }
  bool split_frames() const noexcept { return whole_.split_frames(); }
  std::size_t parts() const noexcept { return part_corpora_.size(); }
  // Of which part a chunk is.
  std::uint32_t part_of(std::uint32_t chunk) const noexcept;

  // Answers of all workers for Shard::even, else of one.
  std::unique_ptr<order::Timeline> make_timeline(const ReaderOptions& options) const;

 private:
  std::unique_ptr<order::Timeline> mixture(const ReaderOptions& options) const;

  std::vector<std::shared_ptr<const Source>> parts_;
  std::shared_ptr<const Source> source_;
  order::Corpus whole_;
  std::vector<order::Corpus> part_corpora_;
  std::vector<std::uint32_t> first_chunk_;  // of each part
};

}  // namespace batchfeed::reader
