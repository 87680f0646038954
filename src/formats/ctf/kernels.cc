// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include <cstdlib>

#if defined(__x86_64__)
#include "formats/ctf/dense_avx2.h"
#endif

namespace batchfeed::ctf {

Kernels kernels_for([[maybe_unused]] std::string_view wanted) noexcept {
#if defined(__x86_64__)
  if (wanted != "scalar" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) {
    return {.tier = "avx2", .dense_f32 = dense_avx2_f32, .dense_f64 = dense_avx2_f64};
  }
#endif
  return {.tier = "scalar"};
}

Kernels kernels() noexcept {
  const char* const wanted = std::getenv("BATCHFEED_CPU");
  return kernels_for(wanted == nullptr ? "" : wanted);
}

}  // namespace batchfeed::ctf
