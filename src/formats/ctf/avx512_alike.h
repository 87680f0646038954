// SPDX-License-Identifier: MIT
//
// Dense numbers in blocks that look alike (avx512_forms.h): how they are read, and how their form is learned.
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

struct Reached {
  const char* p;  // behind the last number read
  float* at;      // where the next one goes
};
// The same with signs in front of any of the numbers. Apart from the loop, which has no registers to spare.
template <bool kEight>
BATCHFEED_AVX512 __attribute__((noinline)) inline Reached alike_but_for_signs_from(const Form& known, const char* p,
                                                                                   float* at,
                                                                                   const float* const full) noexcept {
  const Form form = known;
  const auto taken = static_cast<__mmask16>(first(form.n));
  const std::uint64_t behind = std::uint64_t{1} << form.width;
  while (full - at >= form.n) {
    const __m512i x = _mm512_loadu_si512(p);
    const std::uint64_t minus = settled(_mm512_cmpeq_epi8_mask(x, all('-')));
    const std::uint64_t blanks = settled(_mm512_cmpeq_epi8_mask(x, all(' ')));
    const std::uint64_t end = _pdep_u64(behind, ~minus);  // the blank behind the last number
    const __m512i values = _mm512_xor_si512(_mm512_maskz_compress_epi8(~minus, x), form.bytes);
    if (_mm512_cmpgt_epu8_mask(values, form.most) != 0 || (minus & (end - 1) & ~(blanks << 1)) != 0) break;
    const __m512i digits = _mm512_permutexvar_epi8(form.from, values);
    const __m512 numbers = values_of(form, kEight ? few_eight_digits(digits) : four_digits(digits));
    const auto negative = static_cast<__mmask16>(_pext_u64(minus >> 1, blanks));
    _mm512_mask_storeu_ps(at, taken, _mm512_mask_xor_ps(numbers, negative, numbers, _mm512_set1_ps(-0.0F)));
    p += std::countr_zero(end);
    at += form.n;
  }
  return {p, at};
}

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
// The same for the block at p, which is one of plain numbers, and has another behind it. Apart from the loop, which has
// no registers to spare.
BATCHFEED_AVX512 __attribute__((noinline, cold)) inline void learn_numbers(Form& form, const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<false>(x);
  if (block.others != 0) cut(block, x, p);
  learn_confirmed(form, block, p, [&]() BATCHFEED_AVX512_LAMBDA {
    learn_numbers(form, x, block, block.blanks, tokens_of(block, block.blanks, block.blanks, 0));
  });
}
// The same for the numbers at p without their signs, if some have one: for so many that a sign in front of each would
// still fit into the block.
BATCHFEED_AVX512 __attribute__((noinline, cold)) inline void learn_but_for_signs(Form& form, const char* p) noexcept {
  alignas(64) std::array<char, 64> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  std::size_t size = 0, signs = 0;
  for (; size < text.size(); ++p) {
    if (ends_sample(*p)) return;
    if (*p == '-') {
      ++signs;
    } else {
      text[size++] = *p;
    }
  }
  if (signs == 0 || text[0] != ' ') return;
  const __m512i x = _mm512_load_si512(text.data());
  Block block = block_of<false>(x);
  block.zeros = 0;  // another digit may come in front of a point
  unsigned n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
  const auto end = [&]() BATCHFEED_AVX512_LAMBDA {
    return static_cast<unsigned>(std::countr_zero(_pdep_u64(std::uint64_t{1} << n, block.blanks)));
  };
  while (n > 0 && end() + n > text.size()) --n;
  if (n == 0) return;
  const std::uint64_t separators = block.blanks & first(end() + 1);
  const Tokens t = tokens_of(block, separators, separators, 0);
  if (!t.plain || (block.others & first(end())) != 0) return;
  learn_numbers(form, x, block, separators, t);
  form.any_signs = true;
}

}  // namespace batchfeed::ctf::avx512
