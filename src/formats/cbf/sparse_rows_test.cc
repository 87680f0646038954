// SPDX-License-Identifier: MIT
//
// Each tier takes the same sequences as the scalar one, to the last bit, and stops at the same.
#include "formats/cbf/sparse_rows.h"

#include <batchfeed/buffer.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/rng.h"

namespace batchfeed::cbf {
namespace {

constexpr std::uint64_t kRowDim = 4000;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Sequences of one sample or a few, of every length up to some vectors; one in ten is odd in some way.
std::string draw_rows(CounterRng& rng, std::size_t width) {
  std::string out;
  for (std::uint64_t s = 0, all = 1 + rng.below(12); s < all; ++s) {
    std::vector<std::int32_t> indices, counts;
    for (std::uint64_t n = 0, samples = rng.below(4) == 0 ? rng.below(5) : 1; n < samples; ++n) {
      counts.push_back(static_cast<std::int32_t>(rng.below(70)));
      auto index = static_cast<std::int32_t>(rng.below(3));
      for (std::int32_t i = 0; i < counts.back(); ++i, index += 1 + static_cast<std::int32_t>(rng.below(50))) {
        indices.push_back(index);
      }
    }
    auto nnz = static_cast<std::int32_t>(indices.size());
    const std::uint64_t odd = rng.below(40);
    if (odd < 3 && !indices.empty()) {
      const std::int32_t kWrong[] = {-1, static_cast<std::int32_t>(kRowDim),
                                     static_cast<std::int32_t>(rng.below(kRowDim))};
      indices[static_cast<std::size_t>(rng.below(indices.size()))] = kWrong[odd];
    }
    if (odd == 3 && !counts.empty()) ++counts[0];
    if (odd == 4) nnz = -1;
    put(out, static_cast<std::uint32_t>(counts.size()));
    put(out, nnz);
    for (std::size_t i = 0; i < indices.size() * width; ++i) out += static_cast<char>(rng.below(256));
    for (const std::int32_t index : indices) put(out, index);
    for (const std::int32_t count : counts) put(out, count);
  }
  if (rng.below(4) == 0) out.resize(out.size() - static_cast<std::size_t>(rng.below(8)));
  return out;
}

struct Taken {
  bool operator==(const Taken&) const = default;
  std::vector<bool> fine;  // of each turn
  std::ptrdiff_t at = 0, before = 0;
  std::uint32_t sequence = 0, samples = 0;
  std::string values, indices;
  std::vector<std::uint32_t> first_value, first_sample;
};

constexpr std::size_t kAmple = 1000;

Taken take_all(std::string_view tier, const std::string& bytes, std::size_t width, std::size_t room = kAmple) {
  const std::string padded = std::string(64, '\x7f') + bytes + std::string(64, '\x7f');
  const auto* const begin = reinterpret_cast<const std::byte*>(padded.data()) + 64;
  Buffer<std::byte> values, indices;
  values.resize(bytes.size());
  indices.resize(bytes.size());
  std::vector<std::uint32_t> first_value(bytes.size() / 4 + 2), first_sample(20);
  first_value[0] = 5;
  SparseRows rows{.at = begin,
                  .end = begin + bytes.size(),
                  .before = begin,
                  .sequence = 0,
                  .sequences = 11,
                  .samples = 0,
                  .room = room,
                  .width = width,
                  .longest = 3,
                  .dim = kRowDim,
                  .values = values.data(),
                  .indices = indices.data(),
                  .first_value = first_value.data(),
                  .first_sample = first_sample.data()};
  Taken out;
  do {
    out.fine.push_back(take_rows(tier)(rows));
  } while (!out.fine.back());
  out.at = rows.at - begin;
  out.before = rows.before - begin;
  out.sequence = rows.sequence;
  out.samples = rows.samples;
  out.values.assign(reinterpret_cast<const char*>(values.data()),
                    static_cast<std::size_t>(rows.values - values.data()));
  out.indices.assign(reinterpret_cast<const char*>(indices.data()),
                     static_cast<std::size_t>(rows.indices - indices.data()));
  out.first_value.assign(first_value.data(), rows.first_value + 1);
  out.first_sample.assign(first_sample.data(), first_sample.data() + rows.sequence + 1);
  EXPECT_EQ(out.first_value.size(), out.samples + 1);
  EXPECT_EQ(rows.room, room - out.samples);
  EXPECT_EQ(out.indices.size(), (out.first_value.back() - 5) * std::size_t{4});
  return out;
}

TEST(SparseRows, TiersTakeTheSame) {
  CounterRng rng(11);
  std::size_t odd = 0, whole = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::size_t width = i % 3 == 0 ? 8 : 4;
    const std::string bytes = draw_rows(rng, width);
    const std::size_t room = i % 5 == 0 ? static_cast<std::size_t>(rng.below(8)) : kAmple;
    const Taken slow = take_all("scalar", bytes, width, room);
    odd += slow.fine.size() - 1;
    whole += slow.at == static_cast<std::ptrdiff_t>(bytes.size()) ? 1u : 0u;
    for (const char* tier : {"avx2", "avx512"}) {
      if (cpu_tier(tier) != tier) continue;
      ASSERT_EQ(take_all(tier, bytes, width, room), slow) << tier << ", case " << i;
    }
  }
  EXPECT_GT(odd, 500u);
  EXPECT_GT(whole, 1000u);
}

// Duplicates and falls are told where a sample does not begin, and only there.
TEST(SparseRows, ASampleMayBeginWithAFall) {
  std::string bytes;
  put(bytes, std::uint32_t{2});
  put(bytes, std::int32_t{4});
  bytes.append(16, '\0');
  for (const std::int32_t index : {7, 9, 9, 12}) put(bytes, index);
  for (const std::int32_t count : {2, 2}) put(bytes, count);
  for (const char* tier : {"scalar", "avx2", "avx512"}) {
    EXPECT_EQ(take_all(tier, bytes, 4).fine, std::vector<bool>{true}) << tier;
    std::string other = bytes;
    other[other.size() - 8] = 1;  // samples of 1 and 3 entries
    other[other.size() - 4] = 3;
    EXPECT_EQ(take_all(tier, other, 4).fine, (std::vector<bool>{false, true})) << tier;
  }
}

TEST(SparseRows, ASequenceWithoutRoomStays) {
  std::string bytes;
  for (const std::uint32_t samples : {1U, 3U, 0U, 2U}) {
    put(bytes, samples);
    put(bytes, std::int32_t{0});
    for (std::uint32_t n = 0; n < samples; ++n) put(bytes, std::int32_t{0});
  }
  for (const char* tier : {"scalar", "avx2", "avx512"}) {
    for (const auto& [room, taken] : {std::pair{0U, 0U}, {3U, 1U}, {4U, 3U}, {5U, 3U}, {6U, 4U}})
      EXPECT_EQ(take_all(tier, bytes, 4, room).sequence, taken) << tier << ", room for " << room;
  }
}

}  // namespace
}  // namespace batchfeed::cbf
