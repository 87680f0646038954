// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Pseudo-random numbers, the same sequence in every run: the benchmarks generate their corpora from it.
struct Draws {
  std::uint64_t state = 1;
  std::uint64_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 33;
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
};
