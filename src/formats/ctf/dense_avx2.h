// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace batchfeed::ctf {

// Kernels of kernels.h for CPUs with AVX2 and BMI.
const char* dense_avx2_f32(const char* p, float* out, std::uint64_t dim) noexcept;
const char* dense_avx2_f64(const char* p, double* out, std::uint64_t dim) noexcept;

}  // namespace batchfeed::ctf
