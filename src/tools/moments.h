// SPDX-License-Identifier: MIT
//
// Mean and spread of numbers that come one after another, or in parts.
#pragma once

#include <cmath>
#include <cstdint>

namespace batchfeed {

struct Moments {
  std::uint64_t n = 0;
  // `squares`: the sum of the squared distances from the mean; infinite where a double cannot hold it.
  double mean = 0, squares = 0;

  // Welford.
  void add(double value) {
    const double delta = value - mean;
    mean += delta / static_cast<double>(++n);
    squares += delta * (value - mean);
  }

  // Chan, Golub, LeVeque: how sums of squares of two parts are joined.
  void merge(const Moments& other) {
    if (other.n == 0) return;
    if (n == 0) {  // what follows would multiply 0 by what may be infinite
      *this = other;
      return;
    }
    const double all = static_cast<double>(n + other.n), delta = other.mean - mean;
    squares += other.squares + delta * delta * static_cast<double>(n) * static_cast<double>(other.n) / all;
    mean += delta * static_cast<double>(other.n) / all;
    n += other.n;
  }

  // Of all numbers, not of a sample of them.
  double deviation() const { return n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n)); }
};

}  // namespace batchfeed
