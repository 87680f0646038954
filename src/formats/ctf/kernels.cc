// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include <cstdlib>

#if defined(__x86_64__)
#include "formats/ctf/avx2.h"
#include "formats/ctf/avx512.h"
#elif defined(__aarch64__)
#include "formats/ctf/neon.h"
#endif

namespace batchfeed::ctf {
namespace {

#if defined(__x86_64__)
bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
bool has_avx512() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#endif

}  // namespace

template <class T>
Kernels<T> kernels_for([[maybe_unused]] std::string_view wanted) noexcept {
#if defined(__x86_64__)
  if (wanted != "scalar" && wanted != "avx2" && has_avx512())
    return {.tier = "avx512", .dense = dense_avx512, .sparse = sparse_avx512};
  if (wanted != "scalar" && has_avx2()) return {.tier = "avx2", .dense = dense_avx2, .sparse = sparse_avx2};
#elif defined(__aarch64__)
  if (wanted != "scalar") return {.tier = "neon", .dense = dense_neon, .sparse = sparse_neon};
#endif
  return {.tier = "scalar"};
}

std::string_view forced_tier() noexcept {
  const char* const wanted = std::getenv("BATCHFEED_CPU");
  return wanted == nullptr ? std::string_view() : wanted;
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
