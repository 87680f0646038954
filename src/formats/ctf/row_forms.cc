// SPDX-License-Identifier: MIT
#include "formats/ctf/row_forms.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "base/cpu.h"
#include "formats/ctf/bytes.h"
#include "text/number.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "formats/ctf/avx512_digits.h"
#endif

namespace batchfeed::ctf {
namespace {

constexpr unsigned kDigits = 8;  // of a number
constexpr std::size_t kFewForms = 16;

// [-] digits [. digits], of at most kDigits digits.
struct Number {
  const char* begin = nullptr;  // behind the sign
  unsigned front = 0, behind = 0;
  bool negative = false;

  // Gives the byte behind it, or nullptr.
  const char* take(const char* p) noexcept {
    negative = *p == '-';
    p += static_cast<int>(negative);
    begin = p;
    while (is_digit(*p)) ++p;
    front = static_cast<unsigned>(p - begin);
    behind = 0;
    if (*p == '.') {
      const char* const fraction = ++p;
      while (is_digit(*p)) ++p;
      behind = static_cast<unsigned>(p - fraction);
      if (behind == 0) return nullptr;
    }
    return front == 0 || front + behind > kDigits ? nullptr : p;
  }
  unsigned bytes() const noexcept { return front + behind + (behind == 0 ? 0 : 1); }
  // How far its n-th digit is from its begin.
  unsigned digit(unsigned n) const noexcept { return n < front ? n : n + 1; }
};

}  // namespace

template <class T>
void RowForms<T>::start(std::span<const Part> parts, std::span<const Gap> gaps, bool to_end) {
  samples_ = parts.size();
  gaps_ = gaps.size();
  kernel_ = kernels_[gaps.empty() ? 0 : 1];
  to_end_ = to_end;
  std::copy(parts.begin(), parts.end(), parts_.begin());
  std::copy(gaps.begin(), gaps.end(), gap_.begin());
  others_.fill(0);
  forms_.clear();
  credit_ = kMostCredit;
  asleep_ = 0;
}

template <class T>
void RowForms<T>::learn(const char* p, std::size_t bytes) {
  RowForm<T> form;
  const bool known = bytes <= kRowBytes && form_of(p, bytes, form);
  pay(known ? kPrice : kPriceOfNone);
  if (!known) return;
  const std::size_t at = place_of(form.others);
  std::swap(others_[at], others_[at + 1]);  // of three in one place the oldest goes
  std::swap(form_[at], form_[at + 1]);
  if (others_[at] == 0) {
    if (forms_.empty()) forms_.reserve(kFewForms);
    form_[at] = static_cast<std::uint16_t>(forms_.size());
    forms_.emplace_back();
  }
  others_[at] = form.others;
  forms_[form_[at]] = form;
}

// False where numbers are written in another way, or are too many.
template <class T>
bool RowForms<T>::form_of(const char* const p, std::size_t bytes, RowForm<T>& out) const {
  const char *at = p, *const end = p + bytes - (to_end_ ? 0 : 1);
  std::array<Number, kRowNumbers> numbers, indices;
  std::uint64_t digits = 0;
  out.scales.fill(1);
  out.below.fill(1);
  const auto place = [&](const Number& number, std::uint32_t below) {
    const auto n = static_cast<unsigned>(out.numbers++);
    const auto begin = static_cast<unsigned>(number.begin - p);
    const unsigned half = n % 4 / 2, lane = n / 4 * 2 + n % 2, count = number.front + number.behind;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned from = number.digit(i), to = lane * kDigits + kDigits - count + i;
      out.digits[half][to] = static_cast<std::uint8_t>(from_begins_ ? lane % 2 * kDigits + from : begin + from);
      out.present[half] |= std::uint64_t{1} << to;
      digits |= std::uint64_t{1} << (begin + from);
    }
    out.begins[n] = static_cast<std::uint8_t>(begin);
    out.scales[n] = static_cast<T>(text::kPower[number.behind]) * static_cast<T>(number.negative ? -1 : 1);
    out.below[n] = below;
  };
  if (from_begins_) {
    for (auto& half : out.digits) half.fill(0x80);
  }
  // What T holds exactly, so that a division rounds once.
  constexpr std::uint32_t kExact = std::is_same_v<T, float> ? (1u << 24) + 1 : 100'000'000;
  for (std::size_t i = 0; i < samples_; ++i) {
    const Part& part = parts_[i];
    at += part.name;
    std::size_t count = 0;
    for (; at < end && *at == ' ' && (is_digit(at[1]) || at[1] == '-'); ++count) {
      if (out.numbers + (part.sparse ? 2 : 1) * (count + 1) > kRowNumbers) return false;
      Number& number = numbers[count];
      ++at;
      if (part.sparse) {
        at = indices[count].take(at);
        if (at == nullptr || *at != ':' || indices[count].negative || indices[count].behind != 0) return false;
        ++at;
      }
      at = number.take(at);
      if (at == nullptr || (from_begins_ && number.bytes() > kDigits)) return false;
    }
    if (!part.sparse && count != part.dim) return false;
    out.samples[i] = {.first = static_cast<std::uint8_t>(out.numbers), .count = static_cast<std::uint8_t>(count)};
    for (std::size_t n = 0; part.sparse && n < count; ++n) place(indices[n], static_cast<std::uint32_t>(part.dim));
    for (std::size_t n = 0; n < count; ++n) place(numbers[n], kExact);
    while (at < end && (is_blank(*at) || *at == '\r' || *at == '\n')) ++at;
    if (i + 1 < samples_ ? at >= end || *at != '|' : at != end) return false;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (!is_digit(p[i])) out.others |= bit;
    if ((digits & bit) != 0) continue;
    out.fixed |= bit;
    out.text[i] = p[i];
    out.keep[i] = 0xFF;
  }
  return true;
}

#if defined(__x86_64__)

namespace {

// The lowest bit behind n of them; 0 if there is none.
inline std::uint64_t bit_behind(std::uint64_t bits, std::size_t n) noexcept {
  for (; n != 0; --n) bits &= bits - 1;
  return bits & (0 - bits);
}
// The bit of the mark that the samples end at, of `marks`: newlines if they go to the end, else pipes. 0: it is none of
// these.
template <class T>
inline std::uint64_t end_mark(const RowForms<T>& forms, std::uint64_t marks) noexcept {
  return bit_behind(marks, forms.to_end() ? 0 : forms.samples());
}
template <class T>
inline std::size_t bytes_up_to(const RowForms<T>& forms, std::uint64_t mark) noexcept {
  return static_cast<std::size_t>(std::countr_zero(mark)) + (forms.to_end() ? 1 : 0);
}

// Of 64 bytes of a line: its newline, if it is there, and the pipes in front of it.
struct LineBits {
  std::uint64_t newline, pipes;

  LineBits(std::uint64_t newlines, std::uint64_t all_pipes) noexcept
      : newline(newlines & (0 - newlines)), pipes(all_pipes & (newline - 1)) {}
  // From a gap's pipe to the mark behind it, where the newline is there.
  unsigned gap(std::uint64_t pipe) const noexcept {
    const std::uint64_t behind = (pipes | newline) & ~(pipe | (pipe - 1));
    return static_cast<unsigned>(std::countr_zero(behind) - std::countr_zero(pipe));
  }
  // Cuts out n bytes from a bit on.
  void cut(std::uint64_t from, unsigned n) noexcept {
    newline >>= n;
    pipes = (pipes & (from - 1)) | (pipes >> n & ~(from - 1));
  }
};

}  // namespace

namespace avx512 {
namespace {

BATCHFEED_AVX512_INLINE void store(__m512i mantissa, const std::array<float, kRowNumbers>& scales, std::size_t numbers,
                                   float* out) noexcept {
  if (numbers <= 8) {  // half of a vector is divided in half the time
    const __m256 whole = _mm256_cvtepi32_ps(_mm512_castsi512_si256(mantissa));
    _mm256_store_ps(out, _mm256_div_ps(whole, _mm256_load_ps(scales.data())));
  } else {
    _mm512_store_ps(out, _mm512_div_ps(_mm512_cvtepi32_ps(mantissa), _mm512_load_ps(scales.data())));
  }
}
BATCHFEED_AVX512_INLINE void store(__m512i mantissa, const std::array<double, kRowNumbers>& scales, std::size_t numbers,
                                   double* out) noexcept {
  const __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(mantissa));
  _mm512_store_pd(out, _mm512_div_pd(low, _mm512_load_pd(scales.data())));
  if (numbers <= 8) return;
  const __m512d high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(mantissa, 1));
  _mm512_store_pd(out + 8, _mm512_div_pd(high, _mm512_load_pd(scales.data() + 8)));
}

BATCHFEED_AVX512_INLINE std::uint64_t equal(__m512i x, char c) noexcept { return _mm512_cmpeq_epi8_mask(x, all(c)); }

BATCHFEED_AVX512_INLINE const char* next_mark(const char* p) noexcept {
  for (;; p += 64) {
    const __m512i x = _mm512_loadu_si512(p);
    const std::uint64_t marks = equal(x, '|') | equal(x, '\n');
    if (marks != 0) return p + std::countr_zero(marks);
  }
}

using Bytes = __m512i;

// The bytes of x below the bit of a pipe, and from there on those at p.
BATCHFEED_AVX512_INLINE Bytes with_behind(Bytes x, std::uint64_t pipe, const char* p) noexcept {
  return _mm512_mask_loadu_epi8(x, ~(pipe - 1), p);
}

#define BATCHFEED_TARGET BATCHFEED_AVX512_INLINE
#include "formats/ctf/row_gaps.inc"
#undef BATCHFEED_TARGET

template <class T, bool kGaps>
BATCHFEED_AVX512 const RowForm<T>* row(const char* p, std::uint64_t mark, const RowForms<T>& forms,
                                       RowNumbers<T>& out) noexcept {
  __m512i x = _mm512_loadu_si512(p);
  std::size_t gaps = 0;
  mark = end_of_row<kGaps>(p, mark, forms, x, gaps);
  if (mark == 0) return nullptr;
  const __m512i values = _mm512_sub_epi8(x, all('0'));
  out.bytes = gaps + bytes_up_to(forms, mark);
  const RowForm<T>* const form = forms.find(_mm512_cmpgt_epu8_mask(values, all(9)) & (mark | (mark - 1)));
  if (form == nullptr || _mm512_mask_cmpneq_epu8_mask(form->fixed, x, _mm512_load_si512(form->text.data())) != 0)
    return nullptr;
  const auto half = [&](unsigned i) BATCHFEED_AVX512_LAMBDA {
    return _mm512_maskz_permutexvar_epi8(form->present[i], _mm512_load_si512(form->digits[i].data()), values);
  };
  const __m512i mantissa = eight_digits(half(0), half(1));
  if (_mm512_cmpge_epu32_mask(mantissa, _mm512_load_si512(form->below.data())) != 0) return nullptr;
  _mm512_store_si512(out.indices.data(), mantissa);
  store(mantissa, form->scales, form->numbers, out.values.data());
  return form;
}

}  // namespace
}  // namespace avx512

#define BATCHFEED_AVX2_TARGET "avx2,bmi,bmi2,lzcnt,popcnt"
#define BATCHFEED_AVX2 __attribute__((target(BATCHFEED_AVX2_TARGET)))
#define BATCHFEED_AVX2_INLINE __attribute__((target(BATCHFEED_AVX2_TARGET), always_inline)) inline

namespace avx2 {
namespace {

BATCHFEED_AVX2_INLINE __m256i load(const void* p) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
BATCHFEED_AVX2_INLINE __m128i load_half(const char* p) noexcept {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
BATCHFEED_AVX2_INLINE __m256i are_digits(__m256i x) noexcept {
  // As signed numbers '0' to '9' become the least ten.
  const __m256i least = _mm256_add_epi8(x, _mm256_set1_epi8(static_cast<char>(0x80 - '0')));
  return _mm256_cmpgt_epi8(_mm256_set1_epi8(-128 + 10), least);
}
BATCHFEED_AVX2_INLINE __m256i differs(__m256i x, const char* text, const std::uint8_t* keep) noexcept {
  return _mm256_and_si256(_mm256_xor_si256(x, load(text)), load(keep));
}

struct Bytes {
  __m256i low, high;
};
BATCHFEED_AVX2_INLINE Bytes bytes_at(const char* p) noexcept { return {load(p), load(p + 32)}; }
// A bit for each byte of two comparisons.
BATCHFEED_AVX2_INLINE std::uint64_t both(__m256i low, __m256i high) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}
BATCHFEED_AVX2_INLINE std::uint64_t equal(const Bytes& x, char c) noexcept {
  const __m256i wanted = _mm256_set1_epi8(c);
  return both(_mm256_cmpeq_epi8(x.low, wanted), _mm256_cmpeq_epi8(x.high, wanted));
}

BATCHFEED_AVX2_INLINE const char* next_mark(const char* p) noexcept {
  for (;; p += 32) {
    const __m256i x = load(p);
    const __m256i marks =
        _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('|')), _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\n')));
    if (const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(marks)); bits != 0)
      return p + std::countr_zero(bits);
  }
}

// From byte 64 - n on n bytes of 0xFF, and others of 0.
alignas(64) constexpr auto kFirst = [] {
  std::array<char, 2 * kRowBytes> first{};
  for (std::size_t i = 0; i < kRowBytes; ++i) first[i] = static_cast<char>(0xFF);
  return first;
}();

BATCHFEED_AVX2_INLINE Bytes with_behind(const Bytes& x, std::uint64_t pipe, const char* p) noexcept {
  const Bytes keep = bytes_at(kFirst.data() + kRowBytes - std::countr_zero(pipe)), behind = bytes_at(p);
  return {_mm256_blendv_epi8(behind.low, x.low, keep.low), _mm256_blendv_epi8(behind.high, x.high, keep.high)};
}

#define BATCHFEED_TARGET BATCHFEED_AVX2_INLINE
#include "formats/ctf/row_gaps.inc"
#undef BATCHFEED_TARGET

BATCHFEED_AVX2_INLINE void store(__m256i mantissa, const float* scales, float* out) noexcept {
  _mm256_store_ps(out, _mm256_div_ps(_mm256_cvtepi32_ps(mantissa), _mm256_load_ps(scales)));
}
BATCHFEED_AVX2_INLINE void store(__m256i mantissa, const double* scales, double* out) noexcept {
  const __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(mantissa));
  const __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(mantissa, 1));
  _mm256_store_pd(out, _mm256_div_pd(low, _mm256_load_pd(scales)));
  _mm256_store_pd(out + 4, _mm256_div_pd(high, _mm256_load_pd(scales + 4)));
}

template <class T>
BATCHFEED_AVX2_INLINE __m256i eight_numbers(const char* p, const RowForm<T>& form, std::size_t first) noexcept {
  const auto two = [&](std::size_t n) BATCHFEED_AVX2 {
    return _mm_unpacklo_epi64(load_half(p + form.begins[first + n]), load_half(p + form.begins[first + n + 1]));
  };
  // Two of each four, as twice 4 digits.
  const auto half = [&](std::size_t i) BATCHFEED_AVX2 {
    const __m256i values = _mm256_sub_epi8(_mm256_set_m128i(two(4 + 2 * i), two(2 * i)), _mm256_set1_epi8('0'));
    const __m256i spread = _mm256_shuffle_epi8(values, load(form.digits[i].data() + kDigits / 2 * first));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(spread, _mm256_set1_epi16(0x010A)), _mm256_set1_epi32(0x00010064));
  };
  return _mm256_madd_epi16(_mm256_packus_epi32(half(0), half(1)), _mm256_set1_epi32(0x00012710));
}

template <class T, bool kGaps>
BATCHFEED_AVX2 const RowForm<T>* row(const char* p, std::uint64_t mark, const RowForms<T>& forms,
                                     RowNumbers<T>& out) noexcept {
  Bytes x = bytes_at(p);
  std::size_t gaps = 0;
  mark = end_of_row<kGaps>(p, mark, forms, x, gaps);
  if (mark == 0) return nullptr;
  out.bytes = gaps + bytes_up_to(forms, mark);
  const RowForm<T>* const form = forms.find(~both(are_digits(x.low), are_digits(x.high)) & (mark | (mark - 1)));
  if (form == nullptr) return nullptr;
  const __m256i other = _mm256_or_si256(differs(x.low, form->text.data(), form->keep.data()),
                                        differs(x.high, form->text.data() + 32, form->keep.data() + 32));
  if (_mm256_testz_si256(other, other) == 0) return nullptr;
  alignas(32) std::array<char, kGaps ? kRowBytes + kDigits : 1> whole;  // eight bytes are read where a number begins
  if constexpr (kGaps) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(whole.data()), x.low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(whole.data() + 32), x.high);
    p = whole.data();
  }
  for (std::size_t n = 0; n < form->numbers; n += 8) {
    const __m256i mantissa = eight_numbers(p, *form, n);
    const __m256i most = _mm256_sub_epi32(load(form->below.data() + n), _mm256_set1_epi32(1));
    if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(mantissa, most)) != 0) return nullptr;
    _mm256_store_si256(reinterpret_cast<__m256i*>(out.indices.data() + n), mantissa);
    store(mantissa, form->scales.data() + n, out.values.data() + n);
  }
  return form;
}

}  // namespace
}  // namespace avx2

#endif

template <class T>
RowForms<T>::RowForms([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") kernels_ = {avx512::row<T, false>, avx512::row<T, true>};
  if (best == "avx2") {
    kernels_ = {avx2::row<T, false>, avx2::row<T, true>};
    from_begins_ = true;
  }
#endif
}

template class RowForms<float>;
template class RowForms<double>;

}  // namespace batchfeed::ctf
