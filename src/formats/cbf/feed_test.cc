// SPDX-License-Identifier: MIT
#include "formats/cbf/feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

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
  const auto same = [&](const std::byte* found, std::uint64_t at, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(found), size) == std::string_view(bytes).substr(at, size);
  };
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
          ASSERT_TRUE(same(feed.next(size), at, size)) << at << ' ' << n;
          at += n;
          break;
        case 1:
          feed.fetch(n);
          ASSERT_EQ(feed.ready().size(), size);
          ASSERT_TRUE(same(feed.ready().data(), at, size)) << at << ' ' << n;
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
          ASSERT_TRUE(same(reinterpret_cast<const std::byte*>(out.data()), at, size)) << at << ' ' << n;
          at += n;
      }
    }
  }
}

}  // namespace
}  // namespace batchfeed::cbf
