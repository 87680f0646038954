// SPDX-License-Identifier: MIT
#include "formats/cbf/feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/rng.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

// Whatever is done in whatever order: the bytes are those of the file at that place.
TEST(Feed, GivesTheBytesOfTheFile) {
  const testing::ScratchFolder folder;
  CounterRng rng(11);
  std::string bytes(5 * Feed::kPiece + 12345, '\0');
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
  const std::string path = folder.write("x", bytes);
  const io::File file(path);
  const std::uint64_t begin = 77, end = bytes.size() - 99;
  for (int round = 0; round < 200; ++round) {
    Buffer<std::byte> scratch;
    Feed feed(file, begin, end, scratch);
    std::string out;
    std::uint64_t at = begin;
    for (int step = 0; step < 40; ++step) {
      ASSERT_EQ(feed.at(), at);
      ASSERT_EQ(feed.left(), end - at);
      // Short runs, those about the limit of direct reading, and several pieces.
      constexpr std::uint64_t kMost[] = {9, 2 * Feed::kDirect, Feed::kPiece, 3 * Feed::kPiece};
      const std::uint64_t n = std::min(end - at, rng.below(kMost[rng.below(4)]));
      const auto size = static_cast<std::size_t>(n);
      switch (rng.below(5)) {
        case 0:
          if (n > Feed::kPiece) break;
          ASSERT_EQ(std::memcmp(feed.next(size), bytes.data() + at, size), 0) << at << ' ' << n;
          at += n;
          break;
        case 1:
          feed.fetch(n);
          ASSERT_EQ(feed.ready().size(), size);
          ASSERT_EQ(std::memcmp(feed.ready().data(), bytes.data() + at, size), 0) << at << ' ' << n;
          break;
        case 2:
          at = begin + rng.below(end - begin + 1);
          feed.seek(at);
          break;
        case 3: {  // not far
          const std::uint64_t most = std::min(at - begin, 2 * Feed::kDirect);
          at -= rng.below(most + 1);
          feed.seek(at);
          break;
        }
        default:
          out.resize(size);
          feed.copy(reinterpret_cast<std::byte*>(out.data()), n);
          ASSERT_EQ(out.compare(0, size, bytes, static_cast<std::size_t>(at), size), 0) << at << ' ' << n;
          at += n;
      }
    }
  }
}

}  // namespace
}  // namespace batchfeed::cbf
