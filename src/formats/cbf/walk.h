// SPDX-License-Identifier: MIT
//
// Where rows of a sparse stream begin. Only the counts of those in front of them tell, which
// one reader after the other walks over. Bytes are read before that, from about where the
// rows will be found, and decoded after it, by several readers at a time.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "formats/cbf/feed.h"
#include "formats/cbf/forecast.h"
#include "formats/cbf/turns.h"

namespace batchfeed::cbf {

class Walk {
 public:
  // Of a stream with so many rows, which stands there.
  Walk(const FileStream& stream, const Forecast::Stream& place, std::uint32_t rows);

  // Leaves `feed`, which is one of this stream, at the first of the rows; mostly all their bytes
  // are in memory then. False: counts lead out of the stream, or the way there is too long.
  // Nothing else is checked. Thread-safe.
  bool find(RowRange rows, Feed& feed);
  // That a row begins there, or that the stream ends.
  void learn(std::uint32_t row, std::uint64_t at);

 private:
  struct Found {
    std::uint32_t row;
    std::uint64_t at;
  };
  Found nearest(std::uint32_t row) const;
  std::uint64_t guess(const Found& from, std::uint32_t row) const;
  bool pass(Feed& feed, std::uint32_t rows) const;

  const std::uint64_t entry_;  // bytes
  const Forecast::Stream place_;
  const double row_bytes_;  // in the mean
  Turns turns_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> found_;
  std::uint64_t off_ = 0;  // by which guesses were wrong at most
};

}  // namespace batchfeed::cbf
