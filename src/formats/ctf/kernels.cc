// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include "base/cpu.h"
#include "formats/ctf/scalar.h"

#if defined(__x86_64__)
#include "formats/ctf/avx2.h"
#include "formats/ctf/avx512.h"
#elif defined(__aarch64__)
#include "formats/ctf/neon.h"
#endif

namespace batchfeed::ctf {

template <class T>
Kernels<T> kernels_for(std::string_view wanted) noexcept {
  [[maybe_unused]] const std::string_view tier = cpu_tier(wanted);
#if defined(__x86_64__)
  if (tier == "avx512") return {.dense = dense_avx512, .sparse = sparse_avx512};
  if (tier == "avx2") return {.dense = dense_avx2, .sparse = sparse_avx2};
#elif defined(__aarch64__)
  if (tier == "neon") return {.dense = dense_neon, .sparse = sparse_neon};
#endif
  return {.dense = dense_scalar, .sparse = sparse_scalar};
}

template <class T>
Kernels<T> kernels() noexcept {
  return kernels_for<T>(forced_tier());
}

template Kernels<float> kernels_for(std::string_view) noexcept;
template Kernels<double> kernels_for(std::string_view) noexcept;
template Kernels<float> kernels() noexcept;
template Kernels<double> kernels() noexcept;

}  // namespace batchfeed::ctf
