// SPDX-License-Identifier: MIT
//
// A kernel reads a sample as scan.h alone does, to the last bit and byte, also where its text comes again and again
// and in the samples behind, by what the kernel remembers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "formats/ctf/kernels.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kReadable = 64;  // bytes in front of a text and behind it
constexpr std::size_t kLongest = 4096;
constexpr std::size_t kGuard = 8;  // values behind the room, which stay as they were

struct Case {
  std::string tier;
  bool sparse, doubles;
  std::uint64_t room, dim;  // values or pairs; of pairs
  std::string text;         // with what is readable around it
  const char* sample() const { return text.data() + kReadable; }
};

// Three bytes choose, the rest is the text, which may come many times.
Case case_of(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kTiers = {"avx2", "avx512", "neon", "scalar"};
  constexpr std::array<std::uint64_t, 4> kDims = {10, 1000, 1'000'000, 2'147'483'647};
  const auto byte = [&](std::size_t i) { return i < size ? data[i] : std::uint8_t{0}; };
  Case c{.tier = kTiers[byte(0) >> 2 & 3],
         .sparse = (byte(0) & 1) != 0,
         .doubles = (byte(0) & 2) != 0,
         .room = 1 + std::uint64_t{byte(1)} * (byte(0) >> 4 & 1 ? 4 : 1),
         .dim = kDims[byte(0) >> 5 & 3],
         .text = std::string(kReadable, '7')};
  const std::string piece(reinterpret_cast<const char*>(data) + std::min<std::size_t>(size, 3),
                          size - std::min<std::size_t>(size, 3));
  for (unsigned i = 0; i <= byte(2) && c.text.size() + piece.size() < kLongest; ++i) c.text += piece;
  c.text += '\n' + std::string(kReadable, '7');
  return c;
}

template <class T>
void expect_same(const Case& c, const std::vector<T>& fast, const std::vector<T>& slow, std::uint64_t n) {
  const auto untouched = [](T value) { return value == T{-1}; };
  if (std::memcmp(fast.data(), slow.data(), static_cast<std::size_t>(n) * sizeof(T)) == 0 &&
      std::all_of(fast.begin() + static_cast<std::ptrdiff_t>(c.room), fast.end(), untouched))
    return;
  std::fprintf(stderr, "%s, %llu values: they differ\n%s\n", c.tier.c_str(), static_cast<unsigned long long>(n),
               c.sample());
  std::abort();
}
template <class Room>
void expect_same(const Case& c, ScanEnd fast, const Room& fast_room, ScanEnd slow, const Room& slow_room) {
  if (fast.code == slow.code && fast.at == slow.at && fast_room.count == slow_room.count &&
      fast_room.overflow == slow_room.overflow)
    return;
  std::fprintf(stderr, "%s: %llu values up to byte %td, not %llu up to %td\n%s\n", c.tier.c_str(),
               static_cast<unsigned long long>(fast_room.count), fast.at - c.sample(),
               static_cast<unsigned long long>(slow_room.count), slow.at - c.sample(), c.sample());
  std::abort();
}

template <class T>
void compare(const Case& c, KernelMemory& memory) {
  const auto places = static_cast<std::size_t>(c.room) + kGuard;
  std::vector<T> fast(places, T{-1}), slow(places, T{-1});
  KernelMemory none;
  if (c.sparse) {
    std::vector<std::int32_t> fast_at(places, -1), slow_at(places, -1);
    const auto room = [&](std::vector<T>& values, std::vector<std::int32_t>& indices, KernelMemory& of) {
      return SparseRoom<T>{
          .values = values.data(), .indices = indices.data(), .capacity = c.room, .dim = c.dim, .memory = of};
    };
    SparseRoom<T> fast_room = room(fast, fast_at, memory), slow_room = room(slow, slow_at, none);
    const ScanEnd end = read_sparse(kernels_for<T>(c.tier).sparse, c.sample(), fast_room);
    expect_same(c, end, fast_room, scan_sparse(c.sample(), slow_room), slow_room);
    expect_same(c, fast, slow, fast_room.count);
    expect_same(c, fast_at, slow_at, fast_room.count);
  } else {
    DenseRoom fast_room{.dim = c.room, .memory = memory}, slow_room{.dim = c.room, .memory = none};
    const ScanEnd end = read_dense(kernels_for<T>(c.tier).dense, c.sample(), fast.data(), fast_room);
    expect_same(c, end, fast_room, scan_dense(c.sample(), slow.data(), slow_room), slow_room);
    expect_same(c, fast, slow, std::min(fast_room.count, c.room));
  }
}

}  // namespace
}  // namespace batchfeed::ctf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed::ctf;
  const Case c = case_of(data, size);
  KernelMemory memory;
  // The second sample is not tried where nothing was gained in the first.
  for (int again = 0; again < 3; ++again) c.doubles ? compare<double>(c, memory) : compare<float>(c, memory);
  return 0;
}
