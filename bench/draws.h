// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// A fixed sequence of numbers, of which the programs here make their corpora.
struct Draws {
  std::uint64_t state = 1;
  std::uint64_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 33;
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
};
