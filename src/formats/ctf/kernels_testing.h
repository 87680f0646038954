// SPDX-License-Identifier: MIT
//
// For tests of kernels: samples read by a tier and by scan.h alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "formats/ctf/kernels.h"
#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

inline constexpr std::size_t kPadding = 64;
inline constexpr std::size_t kGuard = 32;  // values behind the room, which must stay as they were

inline std::string padded(const std::string& sample) {
  return std::string(kPadding, '7') + sample + std::string(kPadding, '7');
}

// Those of this CPU.
inline std::vector<std::string> tiers() {
  std::vector<std::string> out;
  for (const char* tier : {"scalar", "avx2", "avx512", "neon"}) {
    if (cpu_tier(tier) == tier) out.emplace_back(tier);
  }
  return out;
}

template <class Room>
void expect_same(const std::string& what, ScanEnd got, const Room& fast, ScanEnd end, const Room& slow) {
  EXPECT_EQ(got.code, end.code) << what;
  EXPECT_EQ(got.at, end.at) << what;
  EXPECT_EQ(fast.count, slow.count) << what;
  EXPECT_EQ(fast.overflow, slow.overflow) << what;
}

// What the kernels of a tier remember of the samples of all tests before, as if they were those of one stream.
inline KernelMemory& memory_of(const std::string& tier, bool sparse) {
  static std::map<std::pair<std::string, bool>, KernelMemory> all;
  return all[{tier, sparse}];
}

// Reads a sample with a tier and with scan.h alone, compares every bit, and
// returns how many values the kernel took before its first turn ended.
template <class T>
std::uint64_t compare_dense(const std::string& tier, const std::string& sample, std::uint64_t dim) {
  const std::string text = padded(sample);
  const char* const p = text.data() + kPadding;
  const auto room_for = static_cast<std::size_t>(dim) + kGuard;
  std::vector<T> fast(room_for, T{-1}), slow(room_for, T{-1}), alone(room_for);
  KernelMemory nothing;
  DenseRoom fast_room{.dim = dim, .memory = memory_of(tier, false)}, slow_room{.dim = dim, .memory = nothing};
  DenseRoom alone_room = slow_room;
  const DenseKernel<T> kernel = kernels_for<T>(tier).dense;
  const ScanEnd end = scan_dense(p, slow.data(), slow_room);
  const ScanEnd got = read_dense(kernel, p, fast.data(), fast_room);
  expect_same(tier + sample, got, fast_room, end, slow_room);
  const auto n = static_cast<std::size_t>(std::min(slow_room.count, dim));
  EXPECT_EQ(std::memcmp(fast.data(), slow.data(), n * sizeof(T)), 0) << tier << sample;
  for (std::size_t i = static_cast<std::size_t>(dim); i < room_for; ++i) EXPECT_EQ(fast[i], T{-1}) << tier << sample;
  kernel(p, alone.data(), alone_room);
  return alone_room.count;
}

template <class T>
std::uint64_t compare_sparse(const std::string& tier, const std::string& sample, std::uint64_t dim,
                             std::uint64_t capacity) {
  const std::string text = padded(sample);
  const char* const p = text.data() + kPadding;
  const auto room_for = static_cast<std::size_t>(capacity) + kGuard;
  std::vector<T> fast(room_for, T{-1}), slow(room_for, T{-1});
  std::vector<std::int32_t> fast_at(room_for, -1), slow_at(room_for, -1);
  KernelMemory nothing;
  const auto room = [&](std::vector<T>& values, std::vector<std::int32_t>& indices, KernelMemory& memory) {
    return SparseRoom<T>{
        .values = values.data(), .indices = indices.data(), .capacity = capacity, .dim = dim, .memory = memory};
  };
  SparseRoom<T> fast_room = room(fast, fast_at, memory_of(tier, true)), slow_room = room(slow, slow_at, nothing);
  const SparseKernel<T> kernel = kernels_for<T>(tier).sparse;
  const ScanEnd end = scan_sparse(p, slow_room);
  const ScanEnd got = read_sparse(kernel, p, fast_room);
  expect_same(tier + sample, got, fast_room, end, slow_room);
  const auto n = static_cast<std::size_t>(std::min(slow_room.count, capacity));
  EXPECT_EQ(std::memcmp(fast.data(), slow.data(), n * sizeof(T)), 0) << tier << sample;
  EXPECT_EQ(std::memcmp(fast_at.data(), slow_at.data(), n * sizeof(std::int32_t)), 0) << tier << sample;
  for (std::size_t i = static_cast<std::size_t>(capacity); i < room_for; ++i) {
    EXPECT_EQ(fast[i], T{-1}) << tier << sample;
    EXPECT_EQ(fast_at[i], -1) << tier << sample;
  }
  SparseRoom<T> alone = room(fast, fast_at, nothing);
  kernel(p, alone);
  return alone.count;
}

}  // namespace batchfeed::ctf
