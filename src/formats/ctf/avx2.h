// SPDX-License-Identifier: MIT
#pragma once

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

// Kernels of kernels.h for CPUs with AVX2, BMI and BMI2.
const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept;
const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept;
const char* sparse_avx2(const char* p, SparseRoom<float>& room) noexcept;
const char* sparse_avx2(const char* p, SparseRoom<double>& room) noexcept;

}  // namespace batchfeed::ctf
