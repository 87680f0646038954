// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time: tokens become lanes of digits (avx512_tokens.h),
// multiply-adds make a number of every lane at once (avx512_digits.h). A block with
// anything else in it is left to scan.h. Its loops are not those of tokens.inc: what is in lanes is
// stored under a mask, with no turns to round up to, and blocks of one form are read by a loop of
// their own; either would cost the other kernels instructions.
#include "formats/ctf/avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <type_traits>

#include "formats/ctf/avx2.h"
#include "formats/ctf/avx512_alike.h"
#include "formats/ctf/avx512_digits.h"
#include "formats/ctf/avx512_forms.h"
#include "formats/ctf/avx512_long.h"
#include "formats/ctf/avx512_tokens.h"

namespace batchfeed::ctf {
namespace avx512 {
namespace {

// As kTenF.
alignas(64) constexpr std::array<double, 16> kTenD = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1};
alignas(64) constexpr std::array<double, 16> kTenthD = {1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                                        1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1};

// Stores n (1..16) numbers with digits below 2^24: both operands are exact, the division rounds once.
BATCHFEED_AVX512_INLINE void store_small(__m512i mantissa, const Tokens& t, const Lanes& fractions, unsigned n,
                                         float* out) noexcept {
  __m512 value = _mm512_cvtepi32_ps(mantissa);
  if (t.points) [[likely]] {
    const __m512i fraction = _mm512_permutexvar_epi8(load(fractions), t.fractions);
    value = _mm512_div_ps(value, _mm512_permutexvar_ps(fraction, _mm512_load_ps(kTenF.data())));
  }
  value = _mm512_mask_xor_ps(value, static_cast<__mmask16>(t.negative), value, _mm512_set1_ps(-0.0F));
  _mm512_mask_storeu_ps(out, static_cast<__mmask16>(first(n)), value);
}

// Stores n (1..8) whole numbers divided by 10^fraction. Returns the lanes whose rounding is in doubt.
BATCHFEED_AVX512_INLINE __mmask8 store_scaled(__m512d mantissa, __m512i fraction, std::uint64_t negative, unsigned n,
                                              float* out) noexcept {
  const __m512d tenth =
      _mm512_permutex2var_pd(_mm512_load_pd(kTenthD.data()), fraction, _mm512_load_pd(kTenthD.data() + 8));
  return store_rounded(_mm512_mul_pd(mantissa, tenth), negative, n, out);
}
BATCHFEED_AVX512_INLINE __mmask8 store_scaled(__m512d mantissa, __m512i fraction, std::uint64_t negative, unsigned n,
                                              double* out) noexcept {
  const __m512d ten = _mm512_permutex2var_pd(_mm512_load_pd(kTenD.data()), fraction, _mm512_load_pd(kTenD.data() + 8));
  // At most 15 digits are exact.
  __m512d value = _mm512_div_pd(mantissa, ten);
  value = _mm512_mask_xor_pd(value, static_cast<__mmask8>(negative), value, _mm512_set1_pd(-0.0));
  _mm512_mask_storeu_pd(out, static_cast<__mmask8>(first(n)), value);
  return 0;
}

// Stores n (1..16) numbers of at most 8 digits. False where scan.h must decide about one of them.
template <class T>
BATCHFEED_AVX512_INLINE bool store_eights(const Tokens& t, unsigned n, T* out) noexcept {
  const __m512i mantissa = eight_digits(spread(t, kTokens8[0], kFromEnd8), spread(t, kTokens8[1], kFromEnd8));
  if constexpr (std::is_same_v<T, float>) {
    if (_mm512_cmpgt_epi32_mask(mantissa, _mm512_set1_epi32(1 << 24)) == 0) {
      store_small(mantissa, t, kFractions4, n, out);
      return true;
    }
  }
  const __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(mantissa));
  const __m512d high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(mantissa, 1));
  Tokens rest = t;
  pass<1>(rest);
  return (store_scaled(low, fractions(t, kFractions8), t.negative, n, out) |
          (n > 8 ? store_scaled(high, fractions(rest, kFractions8), rest.negative, n - 8, out + 8) : 0)) == 0;
}

// The same for n (1..8) numbers of any length, as no CPU could predict a branch on it.
template <class T>
BATCHFEED_AVX512_INLINE bool store_few(const Tokens& t, unsigned n, T* out) noexcept {
  const __m512i which = load(kFewTokens8), next = _mm512_add_epi8(which, all(1));
  const __m512i begin = _mm512_permutexvar_epi8(which, t.separators), end = _mm512_permutexvar_epi8(next, t.separators);
  const __m512i fraction = _mm512_permutexvar_epi8(next, t.fractions);
  const auto digits = [&](__m512i back) BATCHFEED_AVX512_LAMBDA {
    const __m512i from = _mm512_sub_epi8(end, back);
    const __m512i over = _mm512_mask_add_epi8(from, _mm512_cmpgt_epu8_mask(back, fraction), from, all(-1));
    return _mm512_permutexvar_epi8(_mm512_max_epi8(over, begin), t.values);
  };
  const __m512i back = load(kFromEnd8);
  const __m512i mantissa = few_sixteen_digits(digits(back), digits(_mm512_add_epi8(back, all(8))));
  return store_scaled(_mm512_cvtepi64_pd(mantissa), fraction, t.negative, n, out) == 0;
}

// Stores n (1..31) numbers to out[0..n). False where scan.h must decide about one of them.
template <class T>
BATCHFEED_AVX512_INLINE bool store(Tokens t, unsigned n, T* out) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (!above_four(t.runs)) {
      store_small(four_digits(spread(t, kTokens4, kFromEnd4)), t, kFractions4, n, out);
      if (n <= 16) [[likely]]
        return true;
      pass<2>(t);
      store_small(four_digits(spread(t, kTokens4, kFromEnd4)), t, kFractions4, n - 16, out + 16);
      return true;
    }
  }
  if (n <= 8) {
    if (above_fourteen(t.runs) && too_long(t)) return store_long(t, n, out);
    return store_few(t, n, out);
  }
  if (!above_eight(t.runs)) {
    if (!store_eights(t, n, out)) return false;
    if (n <= 16) [[likely]]
      return true;
    pass<2>(t);
    return store_eights(t, n - 16, out + 16);
  }
  if (too_long(t)) return store_long(t, n, out);
  for (;;) {
    const __m512i mantissa = sixteen_digits(spread(t, kTokens16[0], kFromEnd16), spread(t, kTokens16[1], kFromEnd16));
    if (store_scaled(_mm512_cvtepi64_pd(mantissa), fractions(t, kFractions8), t.negative, n, out) != 0) return false;
    if (n <= 8) [[likely]]
      return true;
    pass<1>(t);
    n -= 8;
    out += 8;
  }
}

// Keeps the compiler from moving the load to a later place.
BATCHFEED_AVX512_INLINE __m512i load_now(const char* p) noexcept {
  __m512i x = _mm512_loadu_si512(p);
  asm volatile("" : "+v"(x));
  return x;
}

// Reads blocks with blanks side by side or a plus in front of a number, as dense() does those without. Apart from its
// loop, which has no registers to spare.
template <class T>
BATCHFEED_AVX512 __attribute__((noinline)) const char* dense_apart(const char* p, T* const out,
                                                                   DenseRoom& room) noexcept {
  while (is_blank(*p)) {
    const Apart apart = apart_block<false>(p);
    const Block& block = apart.block;
    const auto n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
    if (!apart.plain || n == 0 || n > room.dim - room.count) break;
    const Tokens tokens = tokens_of(block, block.blanks, block.blanks, 0);
    if (!tokens.plain || !store(tokens, n, out + room.count)) break;
    room.count += n;
    p = apart.next;
    if (apart.ends) break;
  }
  return p;
}

template <class T>
BATCHFEED_AVX512_INLINE const char* dense(const char* p, T* const out, DenseRoom& room) noexcept {
  if (!is_blank(*p)) return p;
  T* at = out + room.count;
  Form& form = form_in(room.memory);
  if constexpr (std::is_same_v<T, float>) {
    if (form.n == 0 && form.wait-- == 0) [[unlikely]] {
      learn_but_for_signs<false>(form, p);
      form.wait = Form::kWait;
    }
  }
  __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<false>(x);
  for (T* const full = out + room.dim;;) {
    if constexpr (std::is_same_v<T, float>) {
      if (form.n != 0) {
        const T* const before = at;
        if (form.any_signs) {
          const Reached reached = form.eight ? alike_but_for_signs_from<true>(form, p, at, full)
                                             : alike_but_for_signs_from<false>(form, p, at, full);
          p = reached.p;
          at = reached.at;
        } else {
          p = form.eight ? alike_from<true>(form, p, at, full) : alike_from<false>(form, p, at, full);
        }
        was_met(form, at != before);
        x = _mm512_loadu_si512(p);
        block = block_of<false>(x);
      }
    }
    const char* const end = block.others == 0 ? nullptr : cut(block, x, p);
    // The next block is loaded first, so that the CPU can work on both. If this one does not end the sample, there are
    // 64 bytes to read behind the next one, too.
    const char* const next = p + width(block.blanks) - 1;
    const __m512i next_x = load_now(next);
    const Block next_block = block_of<false>(next_x);
    const auto n = std::popcount(block.blanks) - 1;
    if (n != 0) [[likely]] {
      const Tokens tokens = tokens_of(block, block.blanks, block.blanks, 0);
      if (!tokens.plain || full - at < n || !store(tokens, static_cast<unsigned>(n), at)) [[unlikely]]
        break;
      at += n;
      if constexpr (std::is_same_v<T, float>) {
        if (end == nullptr && n <= 16 && comes_back(form, block.blanks, block.dots)) [[unlikely]]
          learn_numbers(form, p);
      }
    }
    if (end != nullptr || n == 0) [[unlikely]] {
      p = end == nullptr ? p : end;
      break;
    }
    p = next;
    x = next_x;
    block = next_block;
  }
  room.count = static_cast<std::uint64_t>(at - out);
  return p;
}

// Store n (1..8) pairs of at most 8 digits each, n (1..4) of at most 15. False where scan.h must decide about one.
template <class T>
BATCHFEED_AVX512_INLINE bool store_pairs8(const Tokens& t, unsigned n, std::uint64_t dim, T* values,
                                          std::int32_t* indices) noexcept {
  const __m512i numbers = eight_digits(spread(t, kPairs8[0], kFromEnd8), spread(t, kPairs8[1], kFromEnd8));
  const auto taken = static_cast<__mmask8>(first(n));
  const __m256i index = _mm512_castsi512_si256(numbers), mantissa = _mm512_extracti64x4_epi64(numbers, 1);
  if (_mm256_mask_cmpge_epu32_mask(taken, index, _mm256_set1_epi32(static_cast<int>(dim))) != 0) return false;
  _mm256_mask_storeu_epi32(indices, taken, index);
  if constexpr (std::is_same_v<T, float>) {
    if (_mm256_cmpgt_epi32_mask(mantissa, _mm256_set1_epi32(1 << 24)) == 0) {
      store_small(_mm512_castsi256_si512(mantissa), t, kFractionsOfPairs4, n < 8 ? n : 8, values);
      return true;
    }
  }
  return store_scaled(_mm512_cvtepi32_pd(mantissa), fractions(t, kFractionsOfPairs8), t.negative, n, values) == 0;
}
template <class T>
BATCHFEED_AVX512_INLINE bool store_pairs16(const Tokens& t, unsigned n, std::uint64_t dim, T* values,
                                           std::int32_t* indices) noexcept {
  const __m512i numbers = sixteen_digits(spread(t, kPairs16[0], kFromEnd16), spread(t, kPairs16[1], kFromEnd16));
  const auto taken = static_cast<__mmask8>(first(n));
  const __m512i mantissa = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(numbers, 1));
  if (_mm512_mask_cmpge_epu64_mask(taken, numbers, _mm512_set1_epi64(static_cast<long long>(dim))) != 0) return false;
  _mm512_mask_cvtepi64_storeu_epi32(indices, taken, numbers);
  return store_scaled(_mm512_cvtepi64_pd(mantissa), fractions(t, kFractionsOfPairs8), t.negative, n, values) == 0;
}

// The same for n (1..15) pairs of any length.
template <class T>
BATCHFEED_AVX512_INLINE bool store_pairs(Tokens t, unsigned n, std::uint64_t dim, T* values,
                                         std::int32_t* indices) noexcept {
  if (!above_eight(t.runs)) {
    if (!store_pairs8(t, n, dim, values, indices)) return false;
    if (n <= 8) [[likely]]
      return true;
    pass<2, true>(t);
    return store_pairs8(t, n - 8, dim, values + 8, indices + 8);
  }
  if (too_long(t)) return store_long_pairs(t, n, dim, values, indices);
  for (;;) {
    if (!store_pairs16(t, std::min(n, 4u), dim, values, indices)) return false;
    if (n <= 4) return true;
    pass<1, true>(t);
    n -= 4;
    values += 4;
    indices += 4;
  }
}

template <class T>
BATCHFEED_AVX512_INLINE const char* sparse(const char* p, SparseRoom<T>& room) noexcept {
  if (!is_blank(*p)) return p;
  std::uint64_t count = room.count;
  Form& form = form_in(room.memory);
  for (;;) {
    if constexpr (std::is_same_v<T, float>) {
      if (form.n != 0) {
        const std::uint64_t before = count;
        p = form.any_signs ? alike_but_for_signs_from(form, p, count, room) : alike_from(form, p, count, room);
        was_met(form, count - before > form.n);
      }
    }
    const __m512i x = _mm512_loadu_si512(p);
    Block block = block_of<true>(x);
    const char* const end = block.others == 0 ? nullptr : cut(block, x, p);
    const unsigned last = width(block.blanks) - 1;
    const char* const next = p + last;
    const auto n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
    if (n != 0) [[likely]] {
      const std::uint64_t colons = block.colons & first(last), separators = block.blanks | colons;
      const Tokens tokens = tokens_of(block, separators, colons, colons);
      if (!tokens.plain || !take_turns(separators, colons, n) || count + n > room.capacity ||
          !store_pairs(tokens, n, room.dim, room.values + count, room.indices + count)) [[unlikely]]
        break;
      count += n;
      if constexpr (std::is_same_v<T, float>) {
        if (end == nullptr && !above_seven(tokens.runs) && pairs_come_back(form, block, separators)) [[unlikely]]
          learn_pairs(form, p);
      }
    }
    if (end != nullptr || n == 0) [[unlikely]] {
      p = end == nullptr ? p : end;
      break;
    }
    p = next;
  }
  room.count = count;
  return p;
}

// As dense_apart(), for pairs.
template <class T>
BATCHFEED_AVX512 __attribute__((noinline)) const char* sparse_apart(const char* p, SparseRoom<T>& room) noexcept {
  while (is_blank(*p)) {
    const Apart apart = apart_block<true>(p);
    const Block& block = apart.block;
    const auto n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
    if (!apart.plain || n == 0 || n > room.capacity - room.count) break;
    const std::uint64_t separators = block.blanks | block.colons;
    const Tokens tokens = tokens_of(block, separators, block.colons, block.colons);
    if (!tokens.plain || !take_turns(separators, block.colons, n) ||
        !store_pairs(tokens, n, room.dim, room.values + room.count, room.indices + room.count))
      break;
    room.count += n;
    p = apart.next;
    if (apart.ends) break;
  }
  return p;
}

}  // namespace
}  // namespace avx512

BATCHFEED_AVX512 const char* dense_avx512(const char* p, float* out, DenseRoom& room) noexcept {
  for (unsigned few = 0;;) {
    p = avx512::dense(p, out, room);
    if (ends_sample(*p)) return p;
    const std::uint64_t before = room.count;
    p = alike_long_avx2(p, out, room, few);
    if (ends_sample(*p)) return p;
    p = avx512::with_exponents(p, out, room);
    if (ends_sample(*p)) return p;
    p = avx512::dense_apart(p, out, room);
    if (room.count == before || ends_sample(*p)) return p;
  }
}
BATCHFEED_AVX512 const char* dense_avx512(const char* p, double* out, DenseRoom& room) noexcept {
  for (unsigned few = 0;;) {
    p = avx512::dense(p, out, room);
    if (ends_sample(*p)) return p;
    const std::uint64_t before = room.count;
    p = alike_long_avx2(p, out, room, few);
    if (ends_sample(*p)) return p;
    p = avx512::dense_apart(p, out, room);
    if (room.count == before || ends_sample(*p)) return p;
  }
}
BATCHFEED_AVX512 const char* sparse_avx512(const char* p, SparseRoom<float>& room) noexcept {
  for (;;) {
    p = avx512::sparse(p, room);
    if (ends_sample(*p)) return p;
    const std::uint64_t before = room.count;
    p = avx512::with_exponents(p, room);
    if (ends_sample(*p)) return p;
    p = avx512::sparse_apart(p, room);
    if (room.count == before || ends_sample(*p)) return p;
  }
}
BATCHFEED_AVX512 const char* sparse_avx512(const char* p, SparseRoom<double>& room) noexcept {
  for (;;) {
    p = avx512::sparse(p, room);
    if (ends_sample(*p)) return p;
    const std::uint64_t before = room.count;
    p = avx512::sparse_apart(p, room);
    if (room.count == before || ends_sample(*p)) return p;
  }
}

}  // namespace batchfeed::ctf

#endif
