// SPDX-License-Identifier: MIT
//
// Floating-point numbers as programs print them in full: up to 19 digits, and
// exponents. A block of 64 bytes has two to four of them. The functions are apart from
// the loops for short numbers, which have no registers to spare, and static, so that
// the compiler knows which ones they leave alone.
#pragma once

#include <algorithm>
#include <limits>

#include "formats/ctf/avx512_digits.h"
#include "formats/ctf/scan.h"
#include "text/scale.h"

namespace batchfeed::ctf::avx512 {

// 8 numbers of at most 19 digits, those that `which` names.
BATCHFEED_AVX512_INLINE __m512i long_numbers(const Tokens& t, const Lanes& which) noexcept {
  const __m512i low = few_sixteen_digits(spread(t, which, kFromEnd8), spread(t, which, kFromEnd8Behind[0]));
  const __m512i high = few_eight_digits(spread(t, which, kFromEnd8Behind[1]));
  return _mm512_add_epi64(low, _mm512_mullo_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(high)),
                                                  _mm512_set1_epi64(10'000'000'000'000'000)));
}
// Where text::kPowersOfTen has the scales of numbers; may lie outside of it. `fraction`: in each byte of a lane the
// number of digits behind the point, or 255 for none.
BATCHFEED_AVX512_INLINE __m512i scale_places(__m512i fraction, __m512i exponent) noexcept {
  const __m512i known = _mm512_maskz_mov_epi8(_mm512_cmpneq_epi8_mask(fraction, all(-1)), fraction);
  return _mm512_sub_epi64(_mm512_add_epi64(exponent, _mm512_set1_epi64(-text::kLeastPower)),
                          _mm512_srli_epi64(known, 56));
}
// As text/scale.h makes them, those that the table has. (Without optimisation the gather is a macro of the compiler's,
// with conversions of its own.)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
BATCHFEED_AVX512_INLINE __m512d scaled(__m512i numbers, __m512i places, __mmask8 known) noexcept {
  const __m512d scales =
      _mm512_mask_i64gather_pd(_mm512_setzero_pd(), known, places, text::kPowersOfTen.data(), sizeof(double));
  return _mm512_mul_pd(_mm512_cvtepu64_pd(numbers), scales);
}
#pragma GCC diagnostic pop
BATCHFEED_AVX512_INLINE __m512d scaled_by_fractions(__m512i numbers, __m512i fraction, __mmask8 taken) noexcept {
  return scaled(numbers, scale_places(fraction, _mm512_setzero_si512()), taken);
}

// n (1..31) numbers, some of more than 15 digits. False where scan.h must decide about one of them.
BATCHFEED_AVX512 __attribute__((noinline)) static bool store_long(Tokens t, unsigned n, float* out) noexcept {
  if (above_nineteen(t.runs)) return false;
  for (;;) {
    const auto taken = static_cast<__mmask8>(first(n));
    const __m512d d = scaled_by_fractions(long_numbers(t, kFewTokens8), fractions(t, kFractions8), taken);
    if (store_rounded(d, t.negative, n, out) != 0) return false;
    if (n <= 8) return true;
    pass<1>(t);
    n -= 8;
    out += 8;
  }
}
static inline bool store_long(const Tokens& /*t*/, unsigned /*n*/, const double* /*out*/) noexcept { return false; }

// n (1..15) pairs, likewise.
BATCHFEED_AVX512 __attribute__((noinline)) static bool store_long_pairs(Tokens t, unsigned n, std::uint64_t dim,
                                                                        float* values, std::int32_t* indices) noexcept {
  if (above_nineteen(t.runs)) return false;
  for (;;) {
    const unsigned some = std::min(n, 4u);
    const auto taken = static_cast<__mmask8>(first(some));
    const __m512i numbers = long_numbers(t, kFewPairs8);
    if (_mm512_mask_cmpge_epu64_mask(taken, numbers, _mm512_set1_epi64(static_cast<long long>(dim))) != 0) return false;
    _mm512_mask_cvtepi64_storeu_epi32(indices, taken, numbers);
    const __m512i mantissas = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(numbers, 1));
    const __m512d d = scaled_by_fractions(mantissas, fractions(t, kFractionsOfPairs8), taken);
    if (store_rounded(d, t.negative, some, values) != 0) return false;
    if (n <= 4) return true;
    pass<1, true>(t);
    n -= 4;
    values += 4;
    indices += 4;
  }
}
static inline bool store_long_pairs(const Tokens& /*t*/, unsigned /*n*/, std::uint64_t /*dim*/,
                                    const double* /*values*/, const std::int32_t* /*indices*/) noexcept {
  return false;
}

// A block, behind a blank, of numbers with exponents, which are tokens of their own.
struct Marked {
  Block block;
  std::uint64_t marks, plus, minus;  // 'e' or 'E', and signs
  std::uint64_t separators;          // blanks and marks
  unsigned n;                        // numbers
  const char* next;
  bool ends;  // the sample
};
BATCHFEED_AVX512_INLINE Marked marked_block(const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<false>(x);
  const std::uint64_t marks = _mm512_cmpeq_epi8_mask(_mm512_or_si512(x, all(0x20)), all('e'));
  const std::uint64_t plus = _mm512_cmpeq_epi8_mask(x, all('+'));
  bool ends = false;
  if (const std::uint64_t others = block.others & ~(marks | plus); others != 0) {
    const auto stop = static_cast<unsigned>(std::countr_zero(others));
    block.blanks &= first(stop);
    if (ends_sample(p[stop]) && (block.blanks >> (stop - 1) & 1) == 0) {
      block.blanks |= std::uint64_t{1} << stop;
      ends = true;
    }
  }
  const std::uint64_t inside = first(width(block.blanks));
  return {.block = block,
          .marks = marks & inside,
          .plus = plus & inside,
          .minus = block.minus & inside,
          .separators = block.blanks | (marks & inside),
          .n = static_cast<unsigned>(std::popcount(block.blanks)) - 1,
          .next = p + width(block.blanks) - 1,
          .ends = ends};
}

// A block of numbers that all have an exponent.
struct Scientific {
  Tokens t;             // `negative` is of the numbers
  std::uint64_t below;  // exponents that have a minus
  unsigned n;           // numbers
  const char* next;
  bool ends;  // the sample
};
BATCHFEED_AVX512_INLINE bool scientific(const char* p, Scientific& found) noexcept {
  auto [block, marks, plus, minus, separators, n, next, ends] = marked_block(p);
  found.n = n;
  found.next = next;
  found.ends = ends;
  // Number and exponent take turns, and only exponents have a plus.
  if (n == 0 || _pext_u64(marks, separators) != (0xAAAAAAAAAAAAAAAAu & first(2 * n)) || (plus & ~(marks << 1)) != 0)
    return false;
  block.minus |= plus;
  found.t = tokens_of(block, separators, separators, block.blanks);
  found.t.negative = _pext_u64(minus >> 1, block.blanks);
  found.below = _pext_u64(minus >> 1, marks);
  return found.t.plain && !above_nineteen(found.t.runs);
}

// Of the `taken` lanes: the numbers, scaled by their fractions (as in scale_places()) and exponents, of which `below`
// are negative. False where the table has no scale, or the result is beyond the normal floats, unless it is 0.
BATCHFEED_AVX512_INLINE bool scaled_by_exponents(__m512i numbers, __m512i fraction, __m512i exponent, __mmask8 below,
                                                 __mmask8 taken, __m512d& out) noexcept {
  const __m512i power = _mm512_mask_sub_epi64(exponent, below, _mm512_setzero_si512(), exponent);
  const __m512i places = scale_places(fraction, power);
  // An exponent of 19 digits could come round to the inside of the table.
  const __mmask8 known =
      _mm512_mask_cmplt_epu64_mask(_mm512_mask_cmplt_epu64_mask(taken, exponent, _mm512_set1_epi64(1000)), places,
                                   _mm512_set1_epi64(static_cast<long long>(text::kPowersOfTen.size())));
  out = scaled(numbers, places, known);
  using Float = std::numeric_limits<float>;
  const __mmask8 odd = _mm512_mask_test_epi64_mask(
      static_cast<__mmask8>(~_mm512_cmp_pd_mask(out, _mm512_set1_pd(static_cast<double>(Float::min())), _CMP_GE_OQ) |
                            ~_mm512_cmp_pd_mask(out, _mm512_set1_pd(static_cast<double>(Float::max())), _CMP_LE_OQ)),
      numbers, numbers);
  return known == taken && (odd & taken) == 0;
}

// False where scan.h must decide about one of them.
BATCHFEED_AVX512_INLINE bool store(Scientific& found, float* out) noexcept {
  Tokens& t = found.t;
  for (unsigned n = found.n;; n -= 4, out += 4, found.below >>= 4) {
    const unsigned some = std::min(n, 4u);
    const auto taken = static_cast<__mmask8>(first(some));
    const __m512i numbers = long_numbers(t, kFewPairs8);
    const __m512i exponent = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(numbers, 1));
    __m512d d;  // NOLINT(cppcoreguidelines-init-variables)
    if (!scaled_by_exponents(numbers, fractions(t, kFractionsInFront8), exponent, static_cast<__mmask8>(found.below),
                             taken, d) ||
        store_rounded(d, t.negative, some, out) != 0)
      return false;
    if (n <= 4) return true;
    pass<1, true>(t);
  }
}

// A block, behind a blank, of numbers some of which have an exponent, to out[0..n); at most `room` of them. False where
// scan.h must decide about one of them, and where none has one.
struct Mixed {
  const char* next;
  unsigned n = 0;
  bool ends = false;  // the sample
};
BATCHFEED_AVX512 __attribute__((noinline)) static bool store_mixed(const char* p, std::uint64_t room, float* out,
                                                                   Mixed& found) noexcept {
  auto [block, marks, plus, minus, separators, n, next, ends] = marked_block(p);
  found = {.next = next, .n = n, .ends = ends};
  const std::uint64_t marked = _pext_u64(marks, separators);  // a bit for each separator
  const std::uint64_t ends_exponent = _pdep_u64(marked << 1, separators);
  if (n == 0 || marks == 0 || n > room || (marked & marked << 1) != 0 || (plus & ~(marks << 1)) != 0) return false;
  block.minus |= plus;
  Tokens t = tokens_of(block, separators, separators, ends_exponent);
  if (!t.plain || above_nineteen(t.runs)) return false;
  // A bit for each token: it has an exponent, is one, has a minus.
  const std::uint64_t with = marked >> 1, is_exponent = with << 1, below = _pext_u64(minus >> 1, separators);
  const auto tokens = static_cast<unsigned>(std::popcount(separators)) - 1;
  alignas(64) std::array<std::uint64_t, 64 + 8> numbers;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  alignas(64) std::array<std::uint64_t, 64> fraction;     // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (unsigned i = 0; i < tokens; i += 8, pass<1>(t)) {
    _mm512_store_si512(numbers.data() + i, long_numbers(t, kFewTokens8));
    _mm512_store_si512(fraction.data() + i, fractions(t, kFractions8));
  }
  for (unsigned i = 0; i < tokens; i += 8) {
    const auto there = static_cast<__mmask8>(first(std::min(tokens - i, 8u)));
    const auto taken = static_cast<__mmask8>(there & ~(is_exponent >> i));
    const auto has = static_cast<__mmask8>(with >> i);
    const __m512i number = _mm512_load_si512(numbers.data() + i);
    const __m512i exponent = _mm512_maskz_loadu_epi64(has, numbers.data() + i + 1);
    __m512d d;  // NOLINT(cppcoreguidelines-init-variables)
    if (!scaled_by_exponents(number, _mm512_load_si512(fraction.data() + i), exponent,
                             static_cast<__mmask8>(below >> (i + 1)), taken, d) ||
        in_doubt(d, taken) != 0)
      return false;
    __m256 value = _mm512_cvtpd_ps(d);
    value = _mm256_mask_xor_ps(value, static_cast<__mmask8>(below >> i), value, _mm256_set1_ps(-0.0F));
    const auto some = static_cast<unsigned>(std::popcount(static_cast<unsigned>(taken)));
    _mm256_mask_storeu_ps(out, static_cast<__mmask8>(first(some)), _mm256_maskz_compress_ps(taken, value));
    out += some;
  }
  return true;
}

// As dense() reads blocks of numbers without.
BATCHFEED_AVX512 __attribute__((noinline)) static const char* with_exponents(const char* p, float* out,
                                                                             DenseRoom& room) noexcept {
  while (*p == ' ') {
    Scientific found;
    if (scientific(p, found) && found.n <= room.dim - room.count && store(found, out + room.count)) {
      room.count += found.n;
      p = found.next;
      if (found.ends) break;
      continue;
    }
    Mixed mixed;
    if (!store_mixed(p, room.dim - room.count, out + room.count, mixed)) break;
    room.count += mixed.n;
    p = mixed.next;
    if (mixed.ends) break;
  }
  return p;
}

}  // namespace batchfeed::ctf::avx512
