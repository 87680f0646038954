// SPDX-License-Identifier: MIT
#include "base/cpu.h"

#include <cstdlib>

namespace batchfeed {
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

std::string_view cpu_tier([[maybe_unused]] std::string_view wanted) noexcept {
#if defined(__x86_64__)
  if (wanted != "scalar" && wanted != "avx2" && has_avx512()) return "avx512";
  if (wanted != "scalar" && has_avx2()) return "avx2";
#elif defined(__aarch64__)
  if (wanted != "scalar") return "neon";
#endif
  return "scalar";
}

std::string_view forced_tier() noexcept {
  const char* const wanted = std::getenv("BATCHFEED_CPU");
  return wanted == nullptr ? std::string_view() : wanted;
}

}  // namespace batchfeed
