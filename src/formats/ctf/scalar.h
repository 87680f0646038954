// SPDX-License-Identifier: MIT
#pragma once

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

// Kernels of kernels.h for any CPU.
const char* dense_scalar(const char* p, float* out, DenseRoom& room) noexcept;
const char* dense_scalar(const char* p, double* out, DenseRoom& room) noexcept;
const char* sparse_scalar(const char* p, SparseRoom<float>& room) noexcept;
const char* sparse_scalar(const char* p, SparseRoom<double>& room) noexcept;

}  // namespace batchfeed::ctf
