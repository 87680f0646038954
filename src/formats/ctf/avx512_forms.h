// SPDX-License-Identifier: MIT
//
// Blocks that look alike: text written with a fixed number of digits has its
// separators, points and signs at the same places block after block. The moves
// found for one block then serve for the next, and one comparison tells whether they do.
#pragma once

#include <new>

#include "formats/ctf/avx512_tokens.h"
#include "formats/ctf/scan.h"

namespace batchfeed::ctf::avx512 {

// Powers of ten by the number of digits behind the point; the last one stands for no point.
alignas(64) inline constexpr std::array<float, 16> kTenF = {1e0F, 1e1F, 1e2F,  1e3F, 1e4F, 1e5F, 1e6F, 1e7F,
                                                            1e8F, 1e9F, 1e10F, 1,    1,    1,    1,    1};
alignas(64) inline constexpr std::array<float, 16> kTenthF = {1e0F,  1e-1F, 1e-2F,  1e-3F, 1e-4F, 1e-5F, 1e-6F, 1e-7F,
                                                              1e-8F, 1e-9F, 1e-10F, 1,     1,     1,     1,     1};

struct Form {
  static constexpr std::uint8_t kCredit = 8, kWait = 16;

  __m512i bytes;        // separators, points and signs; '0' for every digit
  __m512i most;         // of a byte xor that: 9 for digits that count, 255 behind the last separator, 0 for all others
  __m512i from;         // see moves()
  __m512 tens, tenths;  // of values
  __m512 signs;
  std::uint32_t n;                 // values; 0: no form is known yet
  std::uint32_t width;             // bytes up to the next block
  bool eight;                      // lanes of 8 digits, else of 4
  bool any_signs;                  // it is that of the bytes without signs, which may stand in front of any number
  std::uint64_t separators, dots;  // of the last block that was of another form
  std::uint8_t credit;             // blocks of other forms until this one is forgotten
  std::uint8_t wait;               // samples until one is looked at for numbers that are alike but for their signs
};
static_assert(sizeof(Form) <= sizeof(KernelMemory));

BATCHFEED_AVX512_INLINE Form& form_in(KernelMemory& memory) noexcept {
  return *std::launder(reinterpret_cast<Form*>(memory.bytes.data()));
}

// Whether a block of no known form looks like the one before: then its form is worth knowing.
BATCHFEED_AVX512_INLINE bool comes_back(Form& form, std::uint64_t separators, std::uint64_t dots) noexcept {
  dots &= first(width(separators));
  if (form.separators == separators && form.dots == dots) return true;
  form.separators = separators;
  form.dots = dots;
  return false;
}

// A form that is met too seldom costs more than it saves.
BATCHFEED_AVX512_INLINE void was_met(Form& form, bool met) noexcept {
  if (met)
    form.credit = Form::kCredit;
  else if (--form.credit == 0)
    form.n = 0;
}

// Knows the form of a block x from its tokens. `fractions`: where Tokens::fractions has those of the values.
BATCHFEED_AVX512_INLINE void know(Form& form, __m512i x, const Block& block, std::uint64_t separators, const Tokens& t,
                                  unsigned n, bool eight, __m512i from, const Lanes& fractions) noexcept {
  const std::uint64_t inside = first(width(separators));
  const std::uint64_t digits = inside & ~(separators | block.dots | block.minus);
  const __m512i most = _mm512_maskz_mov_epi8(digits & ~t.zeros, all(9));
  const __m512i fraction = _mm512_permutexvar_epi8(load(fractions), t.fractions);
  form.bytes = _mm512_mask_mov_epi8(x, digits, all('0'));
  form.most = _mm512_mask_mov_epi8(most, ~inside, all(-1));
  form.from = from;
  form.tens = _mm512_permutexvar_ps(fraction, _mm512_load_ps(kTenF.data()));
  form.tenths = _mm512_permutexvar_ps(fraction, _mm512_load_ps(kTenthF.data()));
  form.signs = _mm512_maskz_mov_ps(static_cast<__mmask16>(t.negative), _mm512_set1_ps(-0.0F));
  form.n = n;
  form.width = width(separators) - 1;
  form.eight = eight;
  form.any_signs = false;
  form.credit = Form::kCredit;
}

// The block's bytes, digits as numbers and separators as 0. False if it is of another form.
BATCHFEED_AVX512_INLINE bool alike(const Form& form, const char* p, __m512i& values) noexcept {
  values = _mm512_xor_si512(_mm512_loadu_si512(p), form.bytes);
  return _mm512_cmpgt_epu8_mask(values, form.most) == 0;
}

// Learns the form of the block at p by learn(), if the block behind has it, too; else once more with
// any digit in front of points. False if neither is so: then the form that was known before stays.
template <class Learn>
BATCHFEED_AVX512_INLINE bool learn_confirmed(Form& form, Block& block, const char* p, const Learn& learn) noexcept {
  const Form before = form;
  const auto confirmed = [&]() BATCHFEED_AVX512_LAMBDA {
    __m512i values;  // NOLINT(cppcoreguidelines-init-variables)
    return alike(form, p + form.width, values);
  };
  learn();
  if (form.n != 0 && confirmed()) return true;
  block.zeros = 0;
  learn();
  if (form.n != 0 && confirmed()) return true;
  form = before;
  return false;
}

// Values of whole numbers of up to 7 digits. The quotient comes out as division rounds it: Markstein's theorem, and
// kernels_test.cc compares all of them.
BATCHFEED_AVX512_INLINE __m512 values_of(const Form& form, __m512i mantissa) noexcept {
  const __m512 whole = _mm512_cvtepi32_ps(mantissa);
  const __m512 quotient = _mm512_mul_ps(whole, form.tenths);
  const __m512 rest = _mm512_fnmadd_ps(quotient, form.tens, whole);
  return _mm512_xor_ps(_mm512_fmadd_ps(rest, form.tenths, quotient), form.signs);
}

}  // namespace batchfeed::ctf::avx512
