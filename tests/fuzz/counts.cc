// SPDX-License-Identifier: MIT
//
// Mutations for files with counts in them, beside those of the fuzzer: one count, or two
// that stand together, become powers of two, so that their sum or product wraps, and the
// file may end behind them. Chance alone hardly ever makes two such counts at once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

// The fuzzer's names; AFL++ has no mutations of its own to lend.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
// NOLINTEND(bugprone-reserved-identifier)

namespace {

void put(std::uint8_t* to, std::uint64_t value, std::size_t width, bool big_endian) {
  for (std::size_t i = 0; i < width; ++i) {
    to[big_endian ? width - 1 - i : i] = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
}

// Bytes that are left: all of them, or those up to the last count.
std::size_t plant_counts(std::uint8_t* data, std::size_t size, std::minstd_rand& draw) {
  constexpr std::array<std::size_t, 3> kWidths = {4, 8, 2};
  constexpr std::array<std::size_t, 4> kBetween = {0, 1, 4, 8};  // a tag or another field stands between
  const std::size_t width = kWidths[draw() % kWidths.size()];
  if (size < width) return size;
  const bool big_endian = draw() % 2 != 0;
  const unsigned power = draw() % (8 * static_cast<unsigned>(width));
  const std::uint64_t near = draw() % 3 == 0 ? draw() % 3 - 1 : 0;  // one below, one above
  const std::size_t first = draw() % (size - width + 1);
  put(data + first, (1ull << power) + near, width, big_endian);
  std::size_t end = first + width;
  if (const std::size_t second = end + kBetween[draw() % kBetween.size()]; draw() % 4 != 0 && second + width <= size) {
    // Their product, perhaps times the size of a value, is 2^16, 2^32 or 2^64.
    const unsigned wraps = 16u << (draw() % 3), each = draw() % 4;
    const unsigned other = wraps > power + each ? wraps - power - each : 0;
    put(data + second, 1ull << std::min(other, 63u), width, big_endian);
    end = second + width;
  }
  return draw() % 2 != 0 ? end : size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand draw(seed);
  draw.discard(2);  // the first ones follow the seed too closely
  if (LLVMFuzzerMutate != nullptr && draw() % 4 != 0) return LLVMFuzzerMutate(data, size, most);
  return plant_counts(data, size, draw);
}
