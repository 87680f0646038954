// SPDX-License-Identifier: MIT
#include "formats/cbf/sparse_rows.h"

#include <cstring>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace batchfeed::cbf {
namespace {

namespace any {
#define BATCHFEED_TARGET
inline void copy(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 64) std::memcpy(to + i, from + i, 64);
}
inline std::size_t copy_indices(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  copy(to, from, count * 4);
  return count_falls(from, count);
}
#include "formats/cbf/sparse_rows.inc"
#undef BATCHFEED_TARGET
}  // namespace any

#if defined(__x86_64__)
namespace avx2 {
#define BATCHFEED_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
BATCHFEED_TARGET inline __m256i load_vector(const std::byte* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
BATCHFEED_TARGET inline void copy(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), load_vector(from + i));
  }
}
// Copies eight indices: a bit for each that is larger than the one before it.
BATCHFEED_TARGET inline unsigned copy_rises(std::byte* to, const std::byte* from) noexcept {
  const __m256i indices = load_vector(from);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), indices);
  const __m256i up = _mm256_cmpgt_epi32(indices, load_vector(from - 4));
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(up)));
}
BATCHFEED_TARGET inline std::size_t copy_indices(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  int rises = 0;
  unsigned first = 1;  // what stands before the first is no index
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8, first = 0) rises += _mm_popcnt_u32(copy_rises(to + 4 * i, from + 4 * i) | first);
  if (i != count) {
    rises += _mm_popcnt_u32(_bzhi_u32(copy_rises(to + 4 * i, from + 4 * i) | first, static_cast<unsigned>(count - i)));
  }
  return count - static_cast<std::size_t>(rises);
}
#include "formats/cbf/sparse_rows.inc"
#undef BATCHFEED_TARGET
}  // namespace avx2

namespace avx512 {
#define BATCHFEED_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt")))
BATCHFEED_TARGET inline void copy(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
}
BATCHFEED_TARGET inline std::size_t copy_indices(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  unsigned falls = 0;
  __mmask16 lanes = 0xFFFE;  // what stands before the first is no index
  for (std::size_t left = count; left > 0; lanes = 0xFFFF) {
    const __m512i indices = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, indices);
    const std::size_t some = left < 16 ? left : 16;
    lanes = static_cast<__mmask16>(_bzhi_u32(lanes, static_cast<unsigned>(some)));
    const __mmask16 down = _mm512_mask_cmple_epi32_mask(lanes, indices, _mm512_loadu_si512(from - 4));
    falls += static_cast<unsigned>(_mm_popcnt_u32(down));
    left -= some;
    from += 64;
    to += 64;
  }
  return falls;
}
#include "formats/cbf/sparse_rows.inc"
#undef BATCHFEED_TARGET
}  // namespace avx512
#endif

}  // namespace

TakeRows take_rows([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") return avx512::take;
  if (best == "avx2") return avx2::take;
#endif
  return any::take;
}

}  // namespace batchfeed::cbf
