// SPDX-License-Identifier: MIT
//
// Numbers and pairs in blocks that look alike (avx512_forms.h): how they are read, and how their form is learned.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "formats/ctf/avx512_digits.h"
#include "formats/ctf/avx512_forms.h"
#include "formats/ctf/avx512_tokens.h"

namespace batchfeed::ctf::avx512 {

// Blocks of the known form from p on.
template <bool kEight>
BATCHFEED_AVX512_INLINE const char* alike_from(const Form& known, const char* p, float*& at,
                                               const float* const full) noexcept {
  const Form form = known;
  const auto taken = static_cast<__mmask16>(first(form.n));
  for (__m512i values; full - at >= form.n && alike(form, p, values); p += form.width, at += form.n) {
    const __m512i digits = _mm512_permutexvar_epi8(form.from, values);
    const __m512i mantissa = kEight ? few_eight_digits(digits) : four_digits(digits);
    _mm512_mask_storeu_ps(at, taken, values_of(form, mantissa));
  }
  return p;
}

// A block of the known form with signs in front of any of its numbers, or of the values of its pairs.
struct Signed {
  __m512i values;  // of its bytes without signs, as alike() gives them
  std::uint64_t negative;
  unsigned width;  // bytes up to the next block
};
template <bool kPairs>
BATCHFEED_AVX512_INLINE bool alike_but_for_signs(const Form& form, const char* p, Signed& block) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  const std::uint64_t minus = settled(_mm512_cmpeq_epi8_mask(x, all('-')));
  const std::uint64_t in_front = settled(_mm512_cmpeq_epi8_mask(x, all(kPairs ? ':' : ' ')));
  const std::uint64_t end = _pdep_u64(std::uint64_t{1} << form.width, ~minus);  // the blank behind the last number
  block.values = _mm512_xor_si512(_mm512_maskz_compress_epi8(~minus, x), form.bytes);
  block.negative = _pext_u64(minus >> 1, in_front);
  block.width = static_cast<unsigned>(std::countr_zero(end));
  return _mm512_cmpgt_epu8_mask(block.values, form.most) == 0 && (minus & (end - 1) & ~(in_front << 1)) == 0;
}

struct Reached {
  const char* p;  // behind the last number read
  float* at;      // where the next one goes
};
// Blocks of the known form but for signs from p on. Apart from the loop, which has no registers to spare.
template <bool kEight>
BATCHFEED_AVX512 __attribute__((noinline)) inline Reached alike_but_for_signs_from(const Form& known, const char* p,
                                                                                   float* at,
                                                                                   const float* const full) noexcept {
  const Form form = known;
  const auto taken = static_cast<__mmask16>(first(form.n));
  for (Signed block; full - at >= form.n && alike_but_for_signs<false>(form, p, block);
       p += block.width, at += form.n) {
    const __m512i digits = _mm512_permutexvar_epi8(form.from, block.values);
    const __m512 numbers = values_of(form, kEight ? few_eight_digits(digits) : four_digits(digits));
    const auto negative = static_cast<__mmask16>(block.negative);
    _mm512_mask_storeu_ps(at, taken, _mm512_mask_xor_ps(numbers, negative, numbers, _mm512_set1_ps(-0.0F)));
  }
  return {p, at};
}

constexpr unsigned kMostAlikePairs = 4;

// Learns the form of the numbers between separators, which are plain: of as many from the first as have lanes.
BATCHFEED_AVX512_INLINE void learn_numbers(Form& form, __m512i x, const Block& block, std::uint64_t separators,
                                           const Tokens& t) noexcept {
  const auto n = static_cast<unsigned>(std::popcount(separators)) - 1;
  if (n <= 16 && !above_four(t.runs)) {
    know(form, x, block, separators, t, n, false, moves(t, kTokens4, kFromEnd4), kFractions4);
  } else if (!above_seven(t.runs)) {
    const std::uint64_t some = _pdep_u64(first(9), separators);
    know(form, x, block, some, t, std::min(n, 8u), true, moves(t, kFewTokens8, kFromEnd8), kFractions4);
  }
}
// The same for pairs.
BATCHFEED_AVX512_INLINE void learn_pairs(Form& form, __m512i x, const Block& block, std::uint64_t separators,
                                         const Tokens& t) noexcept {
  if (above_seven(t.runs)) return;
  const auto n = std::min(static_cast<unsigned>(std::popcount(block.blanks & separators)) - 1, kMostAlikePairs);
  const std::uint64_t some = _pdep_u64(first(2 * n + 1), separators);
  know(form, x, block, some, t, n, true, moves(t, kFewPairs8, kFromEnd8), kFractionsOfPairs4);
}
// Learns the form of the block at p, which is one of plain numbers, and has another behind it. Apart from the loop,
// which has no registers to spare.
BATCHFEED_AVX512 __attribute__((noinline, cold)) inline void learn_numbers(Form& form, const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<false>(x);
  if (block.others != 0) cut(block, x, p);
  learn_confirmed(form, block, p, [&]() BATCHFEED_AVX512_LAMBDA {
    learn_numbers(form, x, block, block.blanks, tokens_of(block, block.blanks, block.blanks, 0));
  });
}
// Whether indices and values of n pairs alternate.
BATCHFEED_AVX512_INLINE bool take_turns(std::uint64_t separators, std::uint64_t colons, unsigned n) noexcept {
  return _pext_u64(colons, separators) == (0xAAAAAAAAAAAAAAAAu & first(2 * n));
}

// Learns the form of the numbers or pairs at p without their signs, if some have one: of so many that a sign in front
// of each would still fit into the block. The block behind must have it, too.
template <bool kPairs>
BATCHFEED_AVX512 __attribute__((noinline, cold)) void learn_but_for_signs(Form& form,
                                                                          const char* const begin) noexcept {
  alignas(64) std::array<char, 64> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  std::size_t size = 0, signs = 0;
  for (const char* p = begin; size < text.size(); ++p) {
    if (ends_sample(*p)) return;
    if (*p == '-') {
      ++signs;
    } else {
      text[size++] = *p;
    }
  }
  if (signs == 0 || text[0] != ' ') return;
  const __m512i x = _mm512_load_si512(text.data());
  Block block = block_of<kPairs>(x);
  block.zeros = 0;  // another digit may come in front of a point
  unsigned n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
  if (kPairs) n = std::min(n, kMostAlikePairs);
  const auto end = [&]() BATCHFEED_AVX512_LAMBDA {
    return static_cast<unsigned>(std::countr_zero(_pdep_u64(std::uint64_t{1} << n, block.blanks)));
  };
  while (n > 0 && end() + n > text.size()) --n;
  if (n == 0) return;
  const std::uint64_t inside = first(end() + 1), colons = block.colons & inside;
  const std::uint64_t separators = (block.blanks & inside) | colons;
  const Tokens t = tokens_of(block, separators, kPairs ? colons : separators, colons);
  if (!t.plain || (block.others & inside) != 0) return;
  const Form before = form;
  form.n = 0;
  if constexpr (kPairs) {
    if (!take_turns(separators, colons, n)) return;
    learn_pairs(form, x, block, separators, t);
  } else {
    learn_numbers(form, x, block, separators, t);
  }
  form.any_signs = true;
  Signed seen;
  if (form.n == 0 || !alike_but_for_signs<kPairs>(form, begin, seen) ||
      !alike_but_for_signs<kPairs>(form, begin + seen.width, seen))
    form = before;
}

// Stores the pairs of a block of the known form, whose bytes have these values. False if an index is too high.
BATCHFEED_AVX512_INLINE bool store_alike(const Form& form, __m512i values, __mmask8 negative, std::uint64_t count,
                                         const SparseRoom<float>& room) noexcept {
  const auto taken = static_cast<__mmask8>(first(form.n));
  const __m512i numbers = few_eight_digits(_mm512_permutexvar_epi8(form.from, values));
  const __m128i index = _mm512_castsi512_si128(numbers), dim = _mm_set1_epi32(static_cast<int>(room.dim));
  if (_mm_mask_cmpge_epu32_mask(taken, index, dim) != 0) [[unlikely]]
    return false;
  const __m512i mantissa = _mm512_zextsi128_si512(_mm512_extracti32x4_epi32(numbers, 1));
  const __m128 value = _mm512_castps512_ps128(values_of(form, mantissa));
  _mm_mask_storeu_epi32(room.indices + count, taken, index);
  _mm_mask_storeu_ps(room.values + count, taken, _mm_mask_xor_ps(value, negative, value, _mm_set1_ps(-0.0F)));
  return true;
}

// Reads pairs in blocks of the known form from p on; returns where it got to.
BATCHFEED_AVX512_INLINE const char* alike_from(const Form& known, const char* p, std::uint64_t& count,
                                               const SparseRoom<float>& room) noexcept {
  const Form form = known;
  for (__m512i values; room.capacity - count >= form.n && alike(form, p, values); p += form.width, count += form.n) {
    if (!store_alike(form, values, 0, count, room)) break;
  }
  return p;
}
BATCHFEED_AVX512 __attribute__((noinline)) inline const char* alike_but_for_signs_from(
    const Form& known, const char* p, std::uint64_t& count, const SparseRoom<float>& room) noexcept {
  const Form form = known;
  for (Signed block; room.capacity - count >= form.n && alike_but_for_signs<true>(form, p, block);
       p += block.width, count += form.n) {
    if (!store_alike(form, block.values, static_cast<__mmask8>(block.negative), count, room)) break;
  }
  return p;
}

// Whether a block of no known form looks like the one before but for signs.
BATCHFEED_AVX512_INLINE bool pairs_come_back(Form& form, const Block& block, std::uint64_t separators) noexcept {
  if (block.minus == 0) return comes_back(form, separators, block.dots);
  return comes_back(form, _pext_u64(separators, ~block.minus), _pext_u64(block.dots, ~block.minus));
}
// Learns the form of the block at p, which is one of plain pairs, and has another behind it; where signs stand
// elsewhere there, that without signs.
BATCHFEED_AVX512 __attribute__((noinline, cold)) inline void learn_pairs(Form& form, const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<true>(x);
  if (block.others != 0) cut(block, x, p);
  const std::uint64_t inside = first(width(block.blanks)), colons = block.colons & inside;
  const std::uint64_t separators = block.blanks | colons;
  const bool confirmed = learn_confirmed(form, block, p, [&]() BATCHFEED_AVX512_LAMBDA {
    learn_pairs(form, x, block, separators, tokens_of(block, separators, colons, colons));
  });
  if (confirmed || (block.minus & inside) == 0 || form.wait-- != 0) return;
  learn_but_for_signs<true>(form, p);
  form.wait = Form::kWait;
}

}  // namespace batchfeed::ctf::avx512
