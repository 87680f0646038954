// SPDX-License-Identifier: MIT
#include "formats/ctf/line_begins.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/cpu.h"
#include "formats/ctf/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace batchfeed::ctf {
namespace {

constexpr std::uint64_t kSome = std::uint64_t{1} << 63;

inline std::uint32_t behind(std::uint64_t bits, std::uint32_t at) noexcept {
  return at + 1 + static_cast<unsigned>(std::countr_zero(bits));
}

// Whether each of some steps, with a bit for each newline, has at most one, as in long lines.
template <std::size_t kSteps>
[[gnu::always_inline]] inline bool alone(const std::array<std::uint64_t, kSteps>& steps) noexcept {
  std::uint64_t second = 0;
  for (const std::uint64_t bits : steps) second |= bits & (bits - 1);
  return second == 0;
}
// Lists the places behind these newlines, counted from `at`; returns how many.
template <std::size_t kSteps>
[[gnu::always_inline]] inline std::size_t list_alone(const std::array<std::uint64_t, kSteps>& steps, std::uint32_t at,
                                                     std::uint32_t* const out) noexcept {
  std::size_t n = 0;
  for (const std::uint64_t bits : steps) {
    out[n] = behind(bits | kSome, at);
    n += bits != 0 ? 1 : 0;
    at += kLineStep;
  }
  return n;
}
// The same for any number of newlines. `kPopcount`: the CPU has an instruction for it.
template <bool kPopcount, std::size_t kSteps>
[[gnu::always_inline]] inline std::size_t list(const std::array<std::uint64_t, kSteps>& steps, std::uint32_t at,
                                               std::uint32_t* const out) noexcept {
  if (alone(steps)) return list_alone(steps, at, out);
  std::size_t n = 0;
  for (std::uint64_t bits : steps) {
    const std::size_t end = n + (kPopcount ? static_cast<unsigned>(__builtin_popcountll(bits)) : ones(bits));
    // Four without a branch, which could not be foreseen; what is too many is overwritten.
    for (std::size_t i = n; i < n + 4; ++i, bits &= bits - 1) {
      out[i] = behind(bits | kSome, at);
      asm("" : "+m"(out[i]));  // one by one: it takes longer to get four into a vector
    }
    for (std::size_t i = n + 4; i < end; ++i, bits &= bits - 1) out[i] = behind(bits, at);
    n = end;
    at += kLineStep;
  }
  return n;
}

namespace any {
#define BATCHFEED_TARGET
inline bool none(const char* p) noexcept { return std::memchr(p, '\n', 4 * kLineStep) == nullptr; }
inline std::size_t add(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  return list<false, 1>({bytes_equal(p, '\n')}, from, out);
}
inline std::size_t add_four(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  const auto step = [&](std::size_t i) { return bytes_equal(p + i * kLineStep, '\n'); };
  return list<false, 4>({step(0), step(1), step(2), step(3)}, from, out);
}
#include "formats/ctf/line_begins.inc"
#undef BATCHFEED_TARGET
}  // namespace any

#if defined(__x86_64__)
namespace avx2 {
#define BATCHFEED_TARGET __attribute__((target("avx2,bmi,popcnt")))
BATCHFEED_TARGET inline __m256i newlines(const char* p) noexcept {
  return _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), _mm256_set1_epi8('\n'));
}
BATCHFEED_TARGET inline std::uint64_t step(const char* p) noexcept {
  const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(newlines(p)));
  const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(newlines(p + 32)));
  return low | std::uint64_t{high} << 32;
}
BATCHFEED_TARGET inline bool none(const char* p) noexcept {
  __m256i any = newlines(p);
  for (std::size_t i = 32; i < 256; i += 32) any = _mm256_or_si256(any, newlines(p + i));
  return _mm256_testz_si256(any, any) != 0;
}
BATCHFEED_TARGET inline std::size_t add(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  return list<true, 1>({step(p)}, from, out);
}
BATCHFEED_TARGET inline std::size_t add_four(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  return list<true, 4>({step(p), step(p + kLineStep), step(p + 2 * kLineStep), step(p + 3 * kLineStep)}, from, out);
}
#include "formats/ctf/line_begins.inc"
#undef BATCHFEED_TARGET
}  // namespace avx2

namespace avx512 {
#define BATCHFEED_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")))
BATCHFEED_TARGET inline __mmask64 newlines(const char* p) noexcept {
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8('\n'));
}
// Compresses the numbers of the bytes that are newlines.
BATCHFEED_TARGET inline std::size_t add(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  alignas(64) static constexpr auto kNumbers = [] {
    std::array<std::uint8_t, 64> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i + 1);
    return numbers;
  }();
  const __mmask64 bits = newlines(p);
  const auto n = static_cast<std::size_t>(_mm_popcnt_u64(bits));
  __m512i found = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(kNumbers.data()));
  const __m512i all = _mm512_set1_epi32(static_cast<int>(from));
  _mm512_storeu_si512(out, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), all));
  for (std::size_t k = 16; k < n; k += 16) {
    found = _mm512_shuffle_i64x2(found, found, 0b00'11'10'01);
    _mm512_storeu_si512(out + k, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), all));
  }
  return n;
}
BATCHFEED_TARGET inline std::size_t add_four(const char* p, std::uint32_t from, std::uint32_t* out) noexcept {
  const std::array<std::uint64_t, 4> steps{newlines(p), newlines(p + 64), newlines(p + 128), newlines(p + 192)};
  if (alone(steps)) return list_alone(steps, from, out);
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < 4 * kLineStep; i += kLineStep) n += add(p + i, from + i, out + n);
  return n;
}
BATCHFEED_TARGET inline bool none(const char* p) noexcept {
  return (newlines(p) | newlines(p + 64) | newlines(p + 128) | newlines(p + 192)) == 0;
}
#include "formats/ctf/line_begins.inc"
#undef BATCHFEED_TARGET
}  // namespace avx512
#endif

}  // namespace

LineBegins line_begins([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") return avx512::begins;
  if (best == "avx2") return avx2::begins;
#endif
  return any::begins;
}

}  // namespace batchfeed::ctf
