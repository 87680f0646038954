// SPDX-License-Identifier: MIT
#pragma once

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

// Kernels of kernels.h for arm64, of which every CPU has NEON.
const char* dense_neon(const char* p, float* out, DenseRoom& room) noexcept;
const char* dense_neon(const char* p, double* out, DenseRoom& room) noexcept;
const char* sparse_neon(const char* p, SparseRoom<float>& room) noexcept;
const char* sparse_neon(const char* p, SparseRoom<double>& room) noexcept;

}  // namespace batchfeed::ctf
