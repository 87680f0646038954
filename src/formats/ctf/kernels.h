// SPDX-License-Identifier: MIT
//
// Vector code for the common case, chosen once for the CPU at hand. A kernel
// either reads exactly what scan.h reads, or declines; tiers differ in time alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace batchfeed::ctf {

// A dense sample of exactly `dim` plain numbers with one blank before each, from
// behind the name on: values to out[0..dim), the end like scan_dense. nullptr for
// anything else, out is undefined then. 64 readable bytes before and behind the text.
template <class T>
using DenseKernel = const char* (*)(const char* p, T* out, std::uint64_t dim) noexcept;

struct Kernels {
  std::string_view tier;                   // "scalar", "avx2"
  DenseKernel<float> dense_f32 = nullptr;  // nullptr: none better than scan.h
  DenseKernel<double> dense_f64 = nullptr;

  template <class T>
  DenseKernel<T> dense() const noexcept;
};
template <>
inline DenseKernel<float> Kernels::dense<float>() const noexcept {
  return dense_f32;
}
template <>
inline DenseKernel<double> Kernels::dense<double>() const noexcept {
  return dense_f64;
}

// The best tier that the CPU has and `wanted` allows (scalar, avx2, avx512; other
// words and nothing mean the best there is).
Kernels kernels_for(std::string_view wanted) noexcept;
// As the environment variable BATCHFEED_CPU wants it.
Kernels kernels() noexcept;

}  // namespace batchfeed::ctf
