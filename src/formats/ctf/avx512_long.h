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
// The numbers as text/scale.h makes them. False where its table does not have the places of all `taken` ones. They are
// mostly near each other, which is faster to look up than with a gather. (Without optimisation that is a macro of the
// compiler's, with conversions of its own.)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
BATCHFEED_AVX512_INLINE bool scaled(__m512i numbers, __m512i places, __mmask8 taken, __m512d& out) noexcept {
  const double* const table = text::kPowersOfTen.data();
  constexpr auto kSize = static_cast<long long>(text::kPowersOfTen.size());
  const long long from = std::clamp(_mm_cvtsi128_si64(_mm512_castsi512_si128(places)) - 8, 0LL, kSize - 16);
  const __m512i near = _mm512_sub_epi64(places, _mm512_set1_epi64(from));
  __m512d scales = _mm512_permutex2var_pd(_mm512_loadu_pd(table + from), near, _mm512_loadu_pd(table + from + 8));
  if (_mm512_mask_cmpgt_epu64_mask(taken, near, _mm512_set1_epi64(15)) != 0) [[unlikely]] {
    if (_mm512_mask_cmpge_epu64_mask(taken, places, _mm512_set1_epi64(kSize)) != 0) return false;
    scales = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), taken, places, table, sizeof(double));
  }
  out = _mm512_mul_pd(_mm512_cvtepu64_pd(numbers), scales);
  return true;
}
#pragma GCC diagnostic pop
// The same for the floats of n numbers with these fractions. False also where scan.h must decide about one of them.
BATCHFEED_AVX512_INLINE bool store_scaled(__m512i numbers, __m512i fraction, std::uint64_t negative, unsigned n,
                                          float* out) noexcept {
  __m512d d;  // NOLINT(cppcoreguidelines-init-variables)
  return scaled(numbers, scale_places(fraction, _mm512_setzero_si512()), static_cast<__mmask8>(first(n)), d) &&
         store_rounded(d, negative, n, out) == 0;
}

// n (1..31) numbers, some of more than 15 digits. False where scan.h must decide about one of them.
BATCHFEED_AVX512 __attribute__((noinline)) static bool store_long(Tokens t, unsigned n, float* out) noexcept {
  if (above_nineteen(t.runs)) return false;
  for (;;) {
    if (!store_scaled(long_numbers(t, kFewTokens8), fractions(t, kFractions8), t.negative, n, out)) return false;
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
    if (!store_scaled(mantissas, fractions(t, kFractionsOfPairs8), t.negative, some, values)) return false;
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

// A block, behind a blank, of at most 16 tokens; exponents are tokens of their own.
struct Marked {
  Block block;
  std::uint64_t marks, plus, minus;  // 'e' or 'E', and signs
  std::uint64_t separators;          // blanks, colons and marks
  unsigned n;                        // numbers or pairs
  const char* next;
  bool ends;  // the sample
};
template <bool kPairs>
BATCHFEED_AVX512_INLINE Marked marked_block(const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<kPairs>(x);
  const std::uint64_t marks = settled(_mm512_cmpeq_epi8_mask(_mm512_or_si512(x, all(0x20)), all('e')));
  const std::uint64_t plus = settled(_mm512_cmpeq_epi8_mask(x, all('+')));
  bool ends = false;
  if (const std::uint64_t others = block.others & ~(marks | plus); others != 0) {
    const auto stop = static_cast<unsigned>(std::countr_zero(others));
    block.blanks &= first(stop);
    if (ends_sample(p[stop]) && (block.blanks >> (stop - 1) & 1) == 0) {
      block.blanks |= std::uint64_t{1} << stop;
      ends = true;
    }
  }
  const std::uint64_t separators = block.blanks | ((marks | block.colons) & first(width(block.blanks)));
  if (const std::uint64_t most = _pdep_u64(std::uint64_t{1} << 16, separators); most != 0) {
    const std::uint64_t kept = block.blanks & _blsmsk_u64(most);
    ends &= kept == block.blanks;
    block.blanks = kept;
  }
  const std::uint64_t inside = first(width(block.blanks));
  block.colons &= inside;
  return {.block = block,
          .marks = marks & inside,
          .plus = plus & inside,
          .minus = block.minus & inside,
          .separators = separators & inside,
          .n = static_cast<unsigned>(std::popcount(block.blanks)) - 1,
          .next = p + width(block.blanks) - 1,
          .ends = ends};
}

// The numbers of up to 16 tokens, and their fractions as in scale_places().
struct Sixteen {
  __m512i low, high;
  BATCHFEED_AVX512_INLINE __m512i at(__m512i tokens) const noexcept {
    return _mm512_permutex2var_epi64(low, tokens, high);
  }
};
BATCHFEED_AVX512_INLINE Sixteen sixteen_numbers(Tokens t, unsigned tokens) noexcept {
  if (!above_eight(t.runs)) {
    const __m512i numbers = eight_digits(spread(t, kTokens8[0], kFromEnd8), spread(t, kTokens8[1], kFromEnd8));
    return {.low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(numbers)),
            .high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(numbers, 1))};
  }
  Sixteen out{.low = long_numbers(t, kFewTokens8), .high = _mm512_setzero_si512()};
  if (tokens > 8) {
    pass<1>(t);
    out.high = long_numbers(t, kFewTokens8);
  }
  return out;
}
BATCHFEED_AVX512_INLINE Sixteen sixteen_fractions(Tokens t) noexcept {
  Sixteen out{.low = fractions(t, kFractions8), .high = _mm512_setzero_si512()};
  pass<1>(t);
  out.high = fractions(t, kFractions8);
  return out;
}

// Of the `taken` lanes: the numbers, of at most 19 digits, scaled by their fractions (as in scale_places()) and
// exponents, of which `tiny` have a minus. False where the table has no scale, or the result is beyond the normal
// floats, unless it is 0.
BATCHFEED_AVX512_INLINE bool scaled_by_exponents(__m512i numbers, __m512i fraction, __m512i exponent, __mmask8 tiny,
                                                 __mmask8 taken, __m512d& out) noexcept {
  // No exponent of at most 19 digits comes round to the inside of the table.
  const __m512i power = _mm512_mask_sub_epi64(exponent, tiny, _mm512_setzero_si512(), exponent);
  if (!scaled(numbers, scale_places(fraction, power), taken, out)) return false;
  constexpr auto kLeast = std::bit_cast<std::int64_t>(double{std::numeric_limits<float>::min()});
  constexpr auto kMost = std::bit_cast<std::int64_t>(double{std::numeric_limits<float>::max()});
  const __m512i above = _mm512_sub_epi64(_mm512_castpd_si512(out), _mm512_set1_epi64(kLeast));
  const __mmask8 odd = _mm512_mask_cmpgt_epu64_mask(taken, above, _mm512_set1_epi64(kMost - kLeast));
  return odd == 0 || _mm512_mask_test_epi64_mask(odd, numbers, numbers) == 0;
}

// Where the numbers of a block with exponents go, and how far they got.
struct MarkedRoom {
  float* values;
  std::int32_t* indices;  // of pairs
  std::uint64_t dim;      // likewise
  std::uint64_t left;     // places
  unsigned n = 0;         // stored
  const char* next = nullptr;
  bool ends = false;  // the sample
};
// Stores the numbers or pairs of a block, behind a blank, some of which have an exponent. False where scan.h must
// decide about one of them, and where none has one.
template <bool kPairs>
BATCHFEED_AVX512 __attribute__((noinline)) static bool store_marked(const char* p, MarkedRoom& room) noexcept {
  auto [block, marks, plus, minus, separators, n, next, ends] = marked_block<kPairs>(p);
  room.n = n;
  room.next = next;
  room.ends = ends;
  // A bit for each separator. A number follows a blank, in pairs a colon that follows a blank.
  const std::uint64_t mark = _pext_u64(marks, separators), colon = kPairs ? _pext_u64(block.colons, separators) : 0;
  const std::uint64_t blank = _pext_u64(block.blanks, separators), in_front = kPairs ? colon : blank;
  const std::uint64_t odd =
      (mark & ~(in_front << 1)) | (kPairs ? (colon & ~(blank << 1)) | (blank & ~((colon | mark) << 1 | 1)) : 0);
  if (n == 0 || marks == 0 || n > room.left || odd != 0) return false;
  block.minus |= plus;
  const std::uint64_t signed_ones = kPairs ? block.colons | marks : separators;
  const Tokens t = tokens_of(block, separators, signed_ones, block.colons | _pdep_u64(mark << 1, separators));
  if (!t.plain || above_nineteen(t.runs)) return false;
  const auto tokens = static_cast<unsigned>(std::popcount(separators)) - 1;
  const Sixteen numbers = sixteen_numbers(t, tokens), fraction = sixteen_fractions(t);
  // A bit for each token: it is a number, has a minus; then for each number.
  const std::uint64_t is_number = in_front & first(tokens), below = _pext_u64(minus >> 1, separators);
  std::uint64_t has = _pext_u64(mark >> 1, is_number), negative = _pext_u64(below, is_number);
  std::uint64_t tiny = _pext_u64(below >> 1, is_number);  // its exponent has a minus
  __m128i which = _mm_maskz_compress_epi8(static_cast<__mmask16>(is_number), _mm512_castsi512_si128(load(kIota)));
  for (unsigned i = 0;; i += 8) {
    const unsigned some = std::min(n - i, 8u);
    const auto taken = static_cast<__mmask8>(first(some));
    const __m512i at = _mm512_cvtepu8_epi64(which), one = _mm512_set1_epi64(1);
    if constexpr (kPairs) {
      const __m512i index = numbers.at(_mm512_sub_epi64(at, one));
      if (_mm512_mask_cmpge_epu64_mask(taken, index, _mm512_set1_epi64(static_cast<long long>(room.dim))) != 0)
        return false;
      _mm512_mask_cvtepi64_storeu_epi32(room.indices + i, taken, index);
    }
    const __m512i exponent = _mm512_maskz_mov_epi64(static_cast<__mmask8>(has), numbers.at(_mm512_add_epi64(at, one)));
    __m512d d;  // NOLINT(cppcoreguidelines-init-variables)
    if (!scaled_by_exponents(numbers.at(at), fraction.at(at), exponent, static_cast<__mmask8>(tiny), taken, d) ||
        store_rounded(d, negative, some, room.values + i) != 0)
      return false;
    if (n - i <= 8) return true;
    which = _mm_bsrli_si128(which, 8);
    has >>= 8;
    tiny >>= 8;
    negative >>= 8;
  }
}

// As dense() reads blocks of numbers without.
BATCHFEED_AVX512 __attribute__((noinline)) static const char* with_exponents(const char* p, float* out,
                                                                             DenseRoom& room) noexcept {
  while (*p == ' ') {
    MarkedRoom marked{.values = out + room.count, .indices = nullptr, .dim = 0, .left = room.dim - room.count};
    if (!store_marked<false>(p, marked)) break;
    room.count += marked.n;
    p = marked.next;
    if (marked.ends) break;
  }
  return p;
}
// As sparse() reads blocks of pairs without.
BATCHFEED_AVX512 __attribute__((noinline)) static const char* with_exponents(const char* p,
                                                                             SparseRoom<float>& room) noexcept {
  while (*p == ' ') {
    MarkedRoom marked{.values = room.values + room.count,
                      .indices = room.indices + room.count,
                      .dim = room.dim,
                      .left = room.capacity - room.count};
    if (!store_marked<true>(p, marked)) break;
    room.count += marked.n;
    p = marked.next;
    if (marked.ends) break;
  }
  return p;
}

}  // namespace batchfeed::ctf::avx512
