// SPDX-License-Identifier: MIT
//
// What a reader reads, as its order sees it: one corpus, or several that are
// mixed, and the timeline that options make of them.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/pieces.h"
#include "order/timeline.h"

namespace batchfeed::reader {

class Corpora {
 public:
  // Cuts chunks into pieces (model/pieces.h) where the order allows it.
  // Throws Error (config) if the streams of a mixture differ, (format) if there are no samples.
  Corpora(std::vector<std::shared_ptr<const Source>> parts, const ReaderOptions& options);

  const std::shared_ptr<const Source>& source() const noexcept { return source_; }  // all parts, one behind the other
  // The same, as it is read: its chunks are those of the order.
  const std::shared_ptr<const Source>& as_read() const noexcept { return as_read_; }
  // Whether chunks were cut into pieces, and none of those is large.
  bool in_pieces() const noexcept;
  const order::Corpus& whole() const noexcept { return whole_; }
  bool split_frames() const noexcept { return whole_.split_frames(); }
  std::size_t parts() const noexcept { return part_corpora_.size(); }
  // Of which part a chunk of as_read() is, and which chunk of source() its rows are of.
  std::uint32_t part_of(std::uint32_t chunk) const noexcept;
  Pieces::Part in_source(std::uint32_t chunk) const noexcept;

  // Of all workers together for Shard::even, else of this one.
  std::unique_ptr<order::Timeline> make_timeline(const ReaderOptions& options) const;

 private:
  std::unique_ptr<order::Timeline> mixture(const ReaderOptions& options) const;

  std::shared_ptr<const Source> source_;
  std::vector<std::shared_ptr<const Pieces>> pieces_;  // of each part, or none
  std::vector<std::shared_ptr<const Source>> parts_;   // as they are read
  std::shared_ptr<const Source> as_read_;
  order::Corpus whole_;
  std::vector<order::Corpus> part_corpora_;
  std::vector<std::uint32_t> first_chunk_;         // of each part, in as_read_
  std::vector<std::uint32_t> first_source_chunk_;  // the same, in source_
};

}  // namespace batchfeed::reader
