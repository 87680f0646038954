// SPDX-License-Identifier: MIT
#pragma once

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

// Kernels of kernels.h for CPUs with AVX2, BMI and BMI2.
const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept;
const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept;
const char* sparse_avx2(const char* p, SparseRoom<float>& room) noexcept;
const char* sparse_avx2(const char* p, SparseRoom<double>& room) noexcept;

// Of dense_avx2() the part that reads numbers with exponents which look alike but for their signs. Counts in
// `few` how often there were too few of them in a sample; does nothing once that was too often.
const char* alike_long_avx2(const char* p, float* out, DenseRoom& room, unsigned& few) noexcept;
const char* alike_long_avx2(const char* p, double* out, DenseRoom& room, unsigned& few) noexcept;

}  // namespace batchfeed::ctf
