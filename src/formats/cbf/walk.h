// SPDX-License-Identifier: MIT
//
// Finds where rows of a sparse stream begin. That follows only from the counts of all rows in
// front of them, which readers walk over one after the other. Before that, several readers at a
// time read bytes from about where their rows will be found; after it, they decode them.
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
  // `place`: where the stream, of so many rows, stands in the file.
  Walk(const FileStream& stream, const Forecast::Stream& place, std::uint32_t rows);

  // Leaves `feed`, which covers this stream, at the first of the rows; mostly all their bytes
  // are in memory then. False: counts lead out of the stream, or too many rows have to be passed.
  // Nothing else is checked. Thread-safe.
  bool find(RowRange rows, Feed& feed);
  // Notes that a row begins at offset `at`, or, for the number of rows, that the stream ends there. Thread-safe.
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
  const double row_bytes_;  // mean bytes of a row
  Turns turns_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> found_;  // offsets of rows
  std::uint64_t off_ = 0;                         // bytes by which the worst guess was wrong
};

}  // namespace batchfeed::cbf
