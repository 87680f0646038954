// SPDX-License-Identifier: MIT
#include "formats/ctf/names.h"

#include <bit>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace batchfeed::ctf {
namespace {

#if defined(__x86_64__)
namespace avx2 {
#define BATCHFEED_TARGET __attribute__((target("avx2,bmi,popcnt")))
using Vector = __m256i;
using Bits = __m256i;
constexpr std::size_t kWidth = 32, kParts = 2;
BATCHFEED_TARGET inline Vector load(const char* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const Vector*>(p));
}
BATCHFEED_TARGET inline Vector all(char c) noexcept { return _mm256_set1_epi8(c); }
BATCHFEED_TARGET inline Bits equal(Vector a, Vector b) noexcept { return _mm256_cmpeq_epi8(a, b); }
BATCHFEED_TARGET inline Bits equal_too(Bits found, Vector a, Vector b) noexcept {
  return _mm256_and_si256(found, equal(a, b));
}
BATCHFEED_TARGET inline Bits up_to(Vector a, Vector most) noexcept {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(a, most), a);
}
BATCHFEED_TARGET inline Bits both(Bits a, Bits b) noexcept { return _mm256_and_si256(a, b); }
BATCHFEED_TARGET inline Bits either(Bits a, Bits b) noexcept { return _mm256_or_si256(a, b); }
BATCHFEED_TARGET inline std::uint64_t mask(Bits v) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(v));
}
#include "formats/ctf/find_names.inc"
#undef BATCHFEED_TARGET
}  // namespace avx2

namespace avx512 {
#define BATCHFEED_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi,popcnt")))
using Vector = __m512i;
using Bits = __mmask64;
constexpr std::size_t kWidth = 64, kParts = 1;
BATCHFEED_TARGET inline Vector load(const char* p) noexcept { return _mm512_loadu_si512(p); }
BATCHFEED_TARGET inline Vector all(char c) noexcept { return _mm512_set1_epi8(c); }
BATCHFEED_TARGET inline Bits equal(Vector a, Vector b) noexcept { return _mm512_cmpeq_epi8_mask(a, b); }
BATCHFEED_TARGET inline Bits equal_too(Bits found, Vector a, Vector b) noexcept {
  return _mm512_mask_cmpeq_epi8_mask(found, a, b);
}
BATCHFEED_TARGET inline Bits up_to(Vector a, Vector most) noexcept { return _mm512_cmple_epu8_mask(a, most); }
BATCHFEED_TARGET inline Bits both(Bits a, Bits b) noexcept { return a & b; }
BATCHFEED_TARGET inline Bits either(Bits a, Bits b) noexcept { return a | b; }
BATCHFEED_TARGET inline std::uint64_t mask(Bits bits) noexcept { return bits; }
#include "formats/ctf/find_names.inc"
#undef BATCHFEED_TARGET
}  // namespace avx512
#endif

}  // namespace

Names::Names(const Schema& schema) {
  const bool one = schema.main() != Schema::kNone;
  const std::size_t n = one ? 1 : schema.size();
  if (n > Piece::kNames) return;
  for (std::size_t i = 0; i < n; ++i) {
    streams_[i] = one ? static_cast<std::size_t>(schema.main()) : i;
    texts_[i] = schema.alias(streams_[i]);
    if (texts_[i].size() > kBytes) return;
  }
  size_ = n;
}

FindNames find_names([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") return avx512::find;
  if (best == "avx2") return avx2::find;
#endif
  return nullptr;
}

}  // namespace batchfeed::ctf
