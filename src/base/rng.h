// SPDX-License-Identifier: MIT
//
// Random numbers that are the same everywhere. No standard distribution, no
// std::shuffle: their results are left open by the standard.
#pragma once

#include <cstdint>
#include <random>

namespace batchfeed {

// The reference's generator and draw (minibatch.md 4): one raw number a draw,
// no rejection.
class CntkRng {
 public:
  void seed(std::uint64_t seed) { engine_.seed(seed); }
  std::uint64_t next() { return engine_(); }
  // From [from, to), from < to.
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) { return from + engine_() % (to - from); }

 private:
  std::mt19937_64 engine_;
};

// SplitMix64's finaliser: a good 64-bit mix of one number.
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// A counter-based generator: number i of stream `key` is a pure function of both.
class CounterRng {
 public:
  constexpr explicit CounterRng(std::uint64_t key) noexcept : key_(mix64(key + 0x9E3779B97F4A7C15ull)) {}
  constexpr std::uint64_t next() noexcept { return mix64(key_ ^ mix64(0xD1B54A32D192ED03ull * ++counter_)); }
  // Uniform in [0, n), n > 0; rejection keeps it exact.
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    const std::uint64_t floor = (0 - n) % n;
    for (;;) {
      const std::uint64_t x = next();
      if (x >= floor) return x % n;
    }
  }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace batchfeed
