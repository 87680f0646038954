// SPDX-License-Identifier: MIT
#include "formats/cbf/walk.h"

#include <algorithm>

namespace batchfeed::cbf {
namespace {
// A reader that wants n rows passes over no more than kMostPieces * n rows: so far from a row that was found, it is
// cheaper to decode the rows between.
constexpr std::uint32_t kMostPieces = 4;
// Bytes read around a guess: twice the error of the worst guess so far and kSlack, at most kMostSlack.
constexpr std::uint64_t kSlack = 4 << 10, kMostSlack = 256 << 10;
}  // namespace

Walk::Walk(const FileStream& stream, const Forecast::Stream& place, std::uint32_t rows)
    : entry_(size_of(stream.element) + 4),
      place_(place),
      row_bytes_(static_cast<double>(place.end - place.begin) / rows),
      found_{{0, place.begin}} {}

void Walk::learn(std::uint32_t row, std::uint64_t at) {
  const std::lock_guard lock(mutex_);
  found_.emplace(row, at);
}

Walk::Found Walk::nearest(std::uint32_t row) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::prev(found_.upper_bound(row));
  return {at->first, at->second};
}

std::uint64_t Walk::guess(const Found& from, std::uint32_t row) const {
  const double bytes = row_bytes_ * static_cast<double>(row - from.row);
  return std::min(from.at + static_cast<std::uint64_t>(bytes), place_.end);
}

bool Walk::find(RowRange rows, Feed& feed) {
  Turns::Turn turn(turns_, rows.first);
  Found from = nearest(rows.first);
  const std::uint64_t guessed = guess(from, rows.first);
  {
    std::uint64_t slack = 0;
    {
      const std::lock_guard lock(mutex_);
      slack = std::min(2 * off_ + kSlack, kMostSlack);
    }
    const std::uint64_t first = guessed - std::min(slack, guessed - place_.begin);
    feed.seek(first);
    feed.fetch(std::min(guess(from, rows.last) + slack, place_.end) - first);
  }
  turn.wait();
  from = nearest(rows.first);
  if (rows.first - from.row > kMostPieces * (rows.last - rows.first)) return false;
  feed.seek(from.at);
  if (!pass(feed, rows.first - from.row)) return false;
  const std::uint64_t begin = feed.at();
  if (!pass(feed, rows.last - rows.first)) return false;
  {
    const std::lock_guard lock(mutex_);
    found_.emplace(rows.last, feed.at());
    off_ = std::max(off_, begin < guessed ? guessed - begin : begin - guessed);
  }
  feed.seek(begin);
  return true;
}

// Passes over so many rows. Where one begins follows from the counts of the one before, so that each
// load would be waited for; the row eight on is prefetched, at the place it has if all are as long.
bool Walk::pass(Feed& feed, std::uint32_t rows) const {
  const auto size = [this](const std::byte* p) {
    return 8 + load<std::uint32_t>(p + 4) * entry_ + std::uint64_t{load<std::uint32_t>(p)} * 4;
  };
  for (;;) {
    const std::span<const std::byte> bytes = feed.ready();
    const std::byte* p = bytes.data();
    std::size_t left = bytes.size();
    for (; rows > 0 && left >= 8; --rows) {
      const std::uint64_t n = size(p);
      if (n > left) break;
      p += n;
      left -= static_cast<std::size_t>(n);
#ifdef __GNUC__
      if (n * 8 < left) __builtin_prefetch(p + n * 8);
#endif
    }
    feed.skip(bytes.size() - left);
    if (rows == 0) return true;
    // This row reaches beyond what is in memory.
    if (feed.left() < 8) return false;
    const std::uint64_t n = size(feed.next(8)) - 8;
    if (n > feed.left()) return false;
    feed.seek(feed.at() + n);
    --rows;
  }
}

}  // namespace batchfeed::cbf
