// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time (tokens.inc): multiply-adds make numbers of four
// tokens at once, of eight where they are short. A block with anything else in it is left
// to scan.h.
#include "formats/ctf/avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "formats/ctf/bytes.h"
#include "formats/ctf/token_tables.h"
#include "text/number.h"
#include "text/scale.h"

// Every CPU with AVX2 and BMI has LZCNT.
#define BATCHFEED_AVX2_TARGET "avx2,bmi,bmi2,lzcnt,popcnt"
#define BATCHFEED_AVX2 __attribute__((target(BATCHFEED_AVX2_TARGET)))
#define BATCHFEED_INLINE __attribute__((target(BATCHFEED_AVX2_TARGET), always_inline)) inline
#define BATCHFEED_APART __attribute__((target(BATCHFEED_AVX2_TARGET), noinline))

namespace batchfeed::ctf {
namespace avx2 {
namespace {

constexpr unsigned kBriefTurn = 8, kTurn = 4, kPairsTurn = 4;

struct Bytes {
  __m256i a, b;
};
BATCHFEED_INLINE Bytes load(const char* p) noexcept {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
BATCHFEED_INLINE std::uint64_t mask(__m256i a, __m256i b) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(a)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(b))) << 32;
}
BATCHFEED_INLINE std::uint64_t equal(const Bytes& x, char c) noexcept {
  const __m256i wanted = _mm256_set1_epi8(c);
  return mask(_mm256_cmpeq_epi8(x.a, wanted), _mm256_cmpeq_epi8(x.b, wanted));
}
BATCHFEED_INLINE std::uint64_t digits_of(const Bytes& x) noexcept {
  // As signed numbers '0' to '9' become the least ten.
  const __m256i shift = _mm256_set1_epi8(static_cast<char>(0x80 - '0')), ten = _mm256_set1_epi8(-128 + 10);
  return mask(_mm256_cmpgt_epi8(ten, _mm256_add_epi8(x.a, shift)), _mm256_cmpgt_epi8(ten, _mm256_add_epi8(x.b, shift)));
}
BATCHFEED_INLINE std::uint64_t lowest(std::uint64_t bits) noexcept { return _tzcnt_u64(bits); }
BATCHFEED_INLINE std::uint64_t width(std::uint64_t bits) noexcept { return 64 - _lzcnt_u64(bits); }
BATCHFEED_INLINE std::uint64_t first(std::uint64_t n) noexcept {
  return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n));
}

struct LongToken {
  std::uint64_t digits, dots, exponents, ends;
};
constexpr std::uint64_t kLongest = 31;
BATCHFEED_INLINE std::uint64_t mask(__m256i x) noexcept { return static_cast<std::uint32_t>(_mm256_movemask_epi8(x)); }
BATCHFEED_INLINE __m256i all(int c) noexcept { return _mm256_set1_epi8(static_cast<char>(c)); }
BATCHFEED_INLINE LongToken long_token_at(const char* p) noexcept {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(x, all(' ')), x);
  return {.digits = mask(_mm256_cmpgt_epi8(all(-128 + 10), _mm256_add_epi8(x, all(0x80 - '0')))),
          .dots = mask(_mm256_cmpeq_epi8(x, all('.'))),
          .exponents = mask(_mm256_cmpeq_epi8(_mm256_or_si256(x, all(0x20)), all('e'))),
          .ends = mask(_mm256_or_si256(low, _mm256_cmpeq_epi8(x, all('|'))))};
}
BATCHFEED_INLINE std::uint64_t mantissa(const char* point, std::uint64_t whole, const char* end,
                                        std::uint64_t fraction) noexcept {
  // The last n of 16 bytes, and of 8.
  alignas(32) static constexpr auto kLast = [] {
    std::array<std::uint8_t, 32> last{};
    for (std::size_t i = 16; i < last.size(); ++i) last[i] = 0xFF;
    return last;
  }();
  const auto bytes = [](const void* at)
                         BATCHFEED_AVX2 { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)); };
  const auto vector = [](const void* at)
                          BATCHFEED_AVX2 { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const std::uint64_t last = std::min<std::uint64_t>(fraction, 16);
  const __m256i text = _mm256_set_m128i(_mm_unpacklo_epi64(bytes(end - 24), bytes(point - 8)), vector(end - 16));
  const __m256i keep =
      _mm256_set_m128i(_mm_unpacklo_epi64(bytes(kLast.data() + 8 + (fraction - last)), bytes(kLast.data() + 8 + whole)),
                       vector(kLast.data() + last));
  const __m256i digits = _mm256_and_si256(_mm256_subs_epu8(text, _mm256_set1_epi8('0')), keep);
  const __m256i fours =
      _mm256_madd_epi16(_mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A)), _mm256_set1_epi32(0x00010064));
  const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
  const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(eights)));
  const auto high = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_extracti128_si256(eights, 1)));
  return (high >> 32) * kWholeTens[fraction] + (high & 0xFFFFFFFFu) * kWholeTens[16] +
         (low & 0xFFFFFFFFu) * kWholeTens[8] + (low >> 32);
}

#include "formats/ctf/tokens.inc"

// The digits of a token, as text; all other bytes are below '1'.
BATCHFEED_INLINE __m128i digits(const Token& token) noexcept {
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(token.end - 16)),
                          _mm_load_si128(reinterpret_cast<const __m128i*>(token.shuffle->data())));
}

// The numbers that every 4 digits of two tokens spell; those of every 8, from two vectors of such numbers.
BATCHFEED_INLINE __m256i four_digits(__m256i text) noexcept {
  const __m256i digits = _mm256_subs_epu8(text, _mm256_set1_epi8('0'));
  return _mm256_madd_epi16(_mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A)), _mm256_set1_epi32(0x00010064));
}
BATCHFEED_INLINE __m256i four_digits(__m128i low, __m128i high) noexcept {
  return four_digits(_mm256_set_m128i(high, low));
}
BATCHFEED_INLINE __m256i eight_digits(__m256i a, __m256i b) noexcept {
  return _mm256_madd_epi16(_mm256_packus_epi32(a, b), _mm256_set1_epi32(0x00012710));
}
// Numbers of 16 digits as doubles: exact up to 15 digits, else rounded once.
BATCHFEED_INLINE __m256d mantissas(__m128i high, __m128i low) noexcept {
  return _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(1e8)), _mm256_cvtepi32_pd(low));
}
// Four values, scaled. Notes in `doubt` where scan.h must decide.
BATCHFEED_INLINE __m128 scaled(__m128i high, __m128i low, __m256d scale, __m256i& doubt, float /*as*/) noexcept {
  const __m256d d = _mm256_mul_pd(mantissas(high, low), scale);
  // See text/scale.h: in doubt only near the middle between two floats, where the low 29 bits less 2^28 - 4 are at
  // most 8. Here they are at the upper end of 64 bits, and the order is that of signed numbers.
  const __m256i near = _mm256_sub_epi64(_mm256_slli_epi64(_mm256_castpd_si256(d), 35),
                                        _mm256_set1_epi64x(((0x10000000LL - 4) << 35) ^ INT64_MIN));
  doubt = _mm256_or_si256(doubt, _mm256_cmpgt_epi64(_mm256_set1_epi64x((9LL << 35) ^ INT64_MIN), near));
  return _mm256_cvtpd_ps(d);
}
BATCHFEED_INLINE __m256d scaled(__m128i high, __m128i low, __m256d scale, __m256i& doubt, double /*as*/) noexcept {
  const __m128i many = _mm_cmpgt_epi32(high, _mm_set1_epi32(9'999'999));
  doubt = _mm256_or_si256(doubt, _mm256_cvtepi32_epi64(many));
  return _mm256_div_pd(mantissas(high, low), scale);
}
BATCHFEED_INLINE __m128 brief_scales(const Token& a, const Token& b, const Token& c, const Token& d) noexcept {
  const float* const scales = kShortTens[0].data();
  return _mm_setr_ps(scales[a.scale], scales[b.scale], scales[c.scale], scales[d.scale]);
}

BATCHFEED_INLINE void put_four(float* out, __m128 values) noexcept { _mm_storeu_ps(out, values); }
BATCHFEED_INLINE void put_four(double* out, __m256d values) noexcept { _mm256_storeu_pd(out, values); }
BATCHFEED_INLINE void put_two(float* out, __m128 values) noexcept {
  _mm_storel_pi(reinterpret_cast<__m64*>(out), values);
}
BATCHFEED_INLINE void put_two(double* out, __m256d values) noexcept {
  _mm_storeu_pd(out, _mm256_castpd256_pd128(values));
}

// For each of 32 bytes: `low`, what it and the digit before it spell, and `high`, what the two digits before those
// spell; 0 where there are none. `before`: the 32 bytes from one byte earlier; `last`: `low` of the 32 bytes before.
struct TwoDigits {
  __m256i low, high;
};
BATCHFEED_INLINE TwoDigits two_digits(__m256i x, __m256i before, __m256i& last) noexcept {
  const __m256i zero = _mm256_set1_epi8('0'), below = _mm256_set1_epi8('0' - 1);
  const __m256i tens =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 0, 0, 0, 0, 0, 0));
  const __m256i sum =
      _mm256_add_epi8(_mm256_subs_epu8(x, zero), _mm256_shuffle_epi8(tens, _mm256_subs_epu8(before, zero)));
  const __m256i low = _mm256_and_si256(sum, _mm256_cmpgt_epi8(x, below));
  const __m256i back = _mm256_alignr_epi8(low, _mm256_permute2x128_si256(last, low, 0x21), 14);
  last = low;
  return {low, _mm256_and_si256(back, _mm256_cmpgt_epi8(before, below))};
}
BATCHFEED_INLINE void put_whole(float* out, __m128i whole) noexcept { _mm_storeu_ps(out, _mm_cvtepi32_ps(whole)); }
BATCHFEED_INLINE void put_whole(double* out, __m128i whole) noexcept {
  _mm256_storeu_pd(out, _mm256_cvtepi32_pd(whole));
}
template <class T>
BATCHFEED_INLINE void store(const Whole& whole, T* out) noexcept {
  const Bytes x = load(whole.p), before = load(whole.p - 1);
  __m256i last = _mm256_setzero_si256();
  const auto put = [&](const TwoDigits& two, std::uint32_t some) BATCHFEED_AVX2 {
    const auto shuffle = [&](unsigned at) BATCHFEED_AVX2 {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(kEndShuffles.at[some >> at & 0xFF].data()));
    };
    const auto count = [&](unsigned bytes) BATCHFEED_AVX2 { return _mm_popcnt_u32(_bzhi_u32(some, 8 * bytes)); };
    const auto draw = [&](__m256i pairs, unsigned at) BATCHFEED_AVX2 {
      const __m256i drawn = _mm256_shuffle_epi8(pairs, _mm256_set_m128i(shuffle(at + 16), shuffle(at)));
      return _mm256_maddubs_epi16(drawn, _mm256_set1_epi16(0x6401));
    };
    const __m256i even = draw(_mm256_unpacklo_epi8(two.low, two.high), 0);
    const __m256i odd = draw(_mm256_unpackhi_epi8(two.low, two.high), 8);
    // Each store writes four values; those too many are overwritten by the next.
    put_whole(out, _mm256_castsi256_si128(even));
    put_whole(out + count(1), _mm256_castsi256_si128(odd));
    put_whole(out + count(2), _mm256_extracti128_si256(even, 1));
    put_whole(out + count(3), _mm256_extracti128_si256(odd, 1));
    out += _mm_popcnt_u32(some);
  };
  put(two_digits(x.a, before.a, last), static_cast<std::uint32_t>(whole.ends));
  put(two_digits(x.b, before.b, last), static_cast<std::uint32_t>(whole.ends >> 32));
}

BATCHFEED_INLINE bool any(__m256i doubt) noexcept { return _mm256_movemask_epi8(doubt) != 0; }

// Tokens of at most 7 bytes: whole number and power of ten are exact as float, so the division rounds once.
BATCHFEED_INLINE void store_brief(Tokens& tokens, unsigned n, float* out) noexcept {
  for (unsigned i = 0; i < n; i += 8) {
    const Token a = tokens.next(), b = tokens.next(), c = tokens.next(), d = tokens.next();
    const __m128i ab = _mm_unpackhi_epi64(digits(a), digits(b)), cd = _mm_unpackhi_epi64(digits(c), digits(d));
    const __m128 front = brief_scales(a, b, c, d);
    const Token e = tokens.next(), f = tokens.next(), g = tokens.next(), h = tokens.next();
    const __m128i ef = _mm_unpackhi_epi64(digits(e), digits(f)), gh = _mm_unpackhi_epi64(digits(g), digits(h));
    const __m256i whole = eight_digits(four_digits(ab, ef), four_digits(cd, gh));
    _mm256_storeu_ps(out + i,
                     _mm256_div_ps(_mm256_cvtepi32_ps(whole), _mm256_set_m128(brief_scales(e, f, g, h), front)));
  }
}
// Stores four numbers of 16 digits each, as scaled values: `ac` holds the digits of the first and the third, `bd` those
// of the second and the fourth.
template <class T>
BATCHFEED_INLINE void put_scaled(__m256i ac, __m256i bd, __m256d scale, __m256i& doubt, T* out) noexcept {
  const __m256i eights = eight_digits(four_digits(ac), four_digits(bd));
  const __m256i halves = _mm256_permutevar8x32_epi32(eights, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
  put_four(out, scaled(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1), scale, doubt, T()));
}
template <class T>
BATCHFEED_INLINE bool store(Tokens& tokens, unsigned n, bool brief, T* out) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      store_brief(tokens, n, out);
      return true;
    }
  }
  __m256i doubt = _mm256_setzero_si256();
  for (unsigned i = 0; i < n; i += 4) {
    const Token a = tokens.next(), b = tokens.next(), c = tokens.next(), d = tokens.next();
    put_scaled(_mm256_set_m128i(digits(c), digits(a)), _mm256_set_m128i(digits(d), digits(b)),
               _mm256_setr_pd(scale_of<T>(a), scale_of<T>(b), scale_of<T>(c), scale_of<T>(d)), doubt, out + i);
  }
  return !any(doubt);
}

// 0 for each byte that is of the form.
BATCHFEED_INLINE Bytes above(const Form& form, const char* p) noexcept {
  const Bytes x = load(p), bytes = load(form.bytes.data()), most = load(form.most.data());
  return {_mm256_subs_epu8(_mm256_xor_si256(x.a, bytes.a), most.a),
          _mm256_subs_epu8(_mm256_xor_si256(x.b, bytes.b), most.b)};
}
BATCHFEED_INLINE bool alike(const Form& form, const char* p) noexcept {
  const Bytes bytes = above(form, p);
  const __m256i any = _mm256_or_si256(bytes.a, bytes.b);
  return _mm256_testz_si256(any, any) != 0;
}
BATCHFEED_INLINE std::uint64_t unlike(const Form& form, const char* p) noexcept { return ~equal(above(form, p), 0); }
// The digits of entries i and j of the form.
BATCHFEED_INLINE __m256i digits(const Form& form, const char* p, unsigned i, unsigned j) noexcept {
  const auto vector = [](const void* at) BATCHFEED_AVX2 { return _mm_loadu_si128(static_cast<const __m128i*>(at)); };
  return _mm256_shuffle_epi8(_mm256_set_m128i(vector(p + form.at[j]), vector(p + form.at[i])),
                             _mm256_set_m128i(vector(form.digits[j].data()), vector(form.digits[i].data())));
}
template <class T>
BATCHFEED_INLINE bool store(const Form& form, const char* p, bool brief, T* out) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      for (unsigned i = 0; i < form.n; i += 8) {
        const unsigned k = i / 2;
        const __m256i whole =
            eight_digits(four_digits(digits(form, p, k, k + 2)), four_digits(digits(form, p, k + 1, k + 3)));
        _mm256_storeu_ps(out + i,
                         _mm256_div_ps(_mm256_cvtepi32_ps(whole), _mm256_load_ps(form.brief_scales.data() + i)));
      }
      return true;
    }
  }
  __m256i doubt = _mm256_setzero_si256();
  for (unsigned i = 0; i < form.n; i += 4)
    put_scaled(digits(form, p, i, i + 2), digits(form, p, i + 1, i + 3), _mm256_load_pd(form.scales.data() + i), doubt,
               out + i);
  return !any(doubt);
}

// A vector twice.
BATCHFEED_INLINE __m256i twice(const void* at) noexcept {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(at)));
}
// 0 if all bytes of both are of the form.
BATCHFEED_INLINE __m256i above(const Form& form, __m256i a, __m256i b) noexcept {
  const __m256i bytes = twice(form.bytes.data()), most = twice(form.most.data());
  return _mm256_or_si256(_mm256_subs_epu8(_mm256_xor_si256(a, bytes), most),
                         _mm256_subs_epu8(_mm256_xor_si256(b, bytes), most));
}
// The last bytes up to blanks.
BATCHFEED_INLINE __m256i sixteens(const char* low, const char* high) noexcept {
  return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(high - 15), reinterpret_cast<const __m128i*>(low - 15));
}
BATCHFEED_INLINE __m128i eights(const char* low, const char* high) noexcept {
  return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(low - 7)),
                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(high - 7)));
}
template <class T>
BATCHFEED_INLINE bool store(const Form& form, const Signed<kTurn>& numbers, T* out) noexcept {
  const auto& [ends, negative] = numbers;
  const __m256i ac = sixteens(ends[0], ends[2]), bd = sixteens(ends[1], ends[3]);
  const __m256i other = above(form, ac, bd), digits = twice(form.digits[0].data());
  const double* const scales = form.scales.data();
  __m256i doubt = _mm256_setzero_si256();
  put_scaled(_mm256_shuffle_epi8(ac, digits), _mm256_shuffle_epi8(bd, digits),
             _mm256_setr_pd(scales[negative[0]], scales[negative[1]], scales[negative[2]], scales[negative[3]]), doubt,
             out);
  return _mm256_testz_si256(other, other) != 0 && !any(doubt);
}
BATCHFEED_INLINE bool store(const Form& form, const Signed<kBriefTurn>& numbers, float* out) noexcept {
  const auto& [ends, negative] = numbers;
  const __m256i front = _mm256_set_m128i(eights(ends[4], ends[5]), eights(ends[0], ends[1]));
  const __m256i back = _mm256_set_m128i(eights(ends[6], ends[7]), eights(ends[2], ends[3]));
  const __m256i other = above(form, front, back), digits = twice(form.digits[0].data());
  const __m256i whole =
      eight_digits(four_digits(_mm256_shuffle_epi8(front, digits)), four_digits(_mm256_shuffle_epi8(back, digits)));
  const float* const scales = form.brief_scales.data();
  const __m256 scale =
      _mm256_setr_ps(scales[negative[0]], scales[negative[1]], scales[negative[2]], scales[negative[3]],
                     scales[negative[4]], scales[negative[5]], scales[negative[6]], scales[negative[7]]);
  _mm256_storeu_ps(out, _mm256_div_ps(_mm256_cvtepi32_ps(whole), scale));
  return _mm256_testz_si256(other, other) != 0;
}

BATCHFEED_INLINE bool alike(const LongForm& form, const char* end) noexcept {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(end - 32));
  const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(form.bytes.data()));
  const __m256i most = _mm256_load_si256(reinterpret_cast<const __m256i*>(form.most.data()));
  const __m256i above = _mm256_subs_epu8(_mm256_xor_si256(x, bytes), most);
  return _mm256_testz_si256(above, above) != 0;
}
BATCHFEED_INLINE Spelled spelled(const LongForm& form, const char* mark, const char* end) noexcept {
  const __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(mark - 24)),
                                          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(end - 8)));
  const __m256i text = _mm256_set_m128i(high, _mm_loadu_si128(reinterpret_cast<const __m128i*>(mark - 16)));
  const __m256i from = _mm256_load_si256(reinterpret_cast<const __m256i*>(form.digits[0].data()));
  const __m256i fours = four_digits(_mm256_shuffle_epi8(text, from)), numbers = eight_digits(fours, fours);
  const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(numbers)));
  const auto rest = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_extracti128_si256(numbers, 1)));
  return {(rest & 0xFFFFFFFFu) * kWholeTens[form.low] + (low & 0xFFFFFFFFu) * kWholeTens[8] + (low >> 32), rest >> 32};
}

// Stores four brief pairs, of which `ac` holds the first and the third, `bd` the others. Returns where an index is
// above `most`.
BATCHFEED_INLINE __m128i put_brief(__m256i ac, __m256i bd, __m128 scales, __m128i most, float* values,
                                   std::int32_t* indices) noexcept {
  // The numbers of `eights` alternate: index, value, index ...
  const __m256i eights = eight_digits(four_digits(ac), four_digits(bd));
  const __m256i halves = _mm256_permutevar8x32_epi32(eights, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
  const __m128i index = _mm256_castsi256_si128(halves);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(indices), index);
  _mm_storeu_ps(values, _mm_div_ps(_mm_cvtepi32_ps(_mm256_extracti128_si256(halves, 1)), scales));
  return _mm_cmpgt_epi32(index, most);
}
// Stores two pairs, whose indices and values have 16 digits each.
template <class T>
BATCHFEED_INLINE __m128i put_pairs(__m256i ab, __m256i cd, __m256d scales, __m128i most, __m256i& doubt, T* values,
                                   std::int32_t* indices) noexcept {
  const __m256i eights = eight_digits(four_digits(ab), four_digits(cd));
  const __m128i index = _mm256_castsi256_si128(eights), value = _mm256_extracti128_si256(eights, 1);
  const __m128i high = _mm_shuffle_epi32(value, 0b10'00'10'00), low = _mm_shuffle_epi32(value, 0b11'01'11'01);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(indices), _mm_shuffle_epi32(index, 0b00'00'11'01));
  put_two(values, scaled(high, low, scales, doubt, T()));
  return _mm_cmpgt_epi32(index, most);
}
BATCHFEED_INLINE __m128i most_of(std::uint64_t dim, bool brief) noexcept {
  const auto highest = static_cast<int>(dim - 1), high = brief ? highest : 0;
  return _mm_setr_epi32(high, highest, high, highest);
}

BATCHFEED_INLINE bool store_brief(Pairs& pairs, unsigned n, std::uint64_t dim, float* values,
                                  std::int32_t* indices) noexcept {
  const __m128i most = most_of(dim, true);
  __m128i too_high = _mm_setzero_si128();
  for (unsigned i = 0; i < n; i += 4) {
    const Token a = pairs.next(), b = pairs.next(), c = pairs.next(), d = pairs.next();
    too_high =
        _mm_or_si128(too_high, put_brief(_mm256_set_m128i(digits(c), digits(a)), _mm256_set_m128i(digits(d), digits(b)),
                                         brief_scales(a, b, c, d), most, values + i, indices + i));
  }
  return _mm_movemask_epi8(too_high) == 0;
}
template <class T>
BATCHFEED_INLINE bool store(Pairs& pairs, unsigned n, bool brief, std::uint64_t dim, T* values,
                            std::int32_t* indices) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (brief) return store_brief(pairs, n, dim, values, indices);
  }
  const __m128i most = most_of(dim, false);
  __m128i too_high = _mm_setzero_si128();
  __m256i doubt = _mm256_setzero_si256();
  for (unsigned i = 0; i < n; i += 2) {
    Token a, c;
    const Token b = pairs.next(a), d = pairs.next(c);
    const __m256d scales = _mm256_setr_pd(scale_of<T>(b), scale_of<T>(d), scale_of<T>(b), scale_of<T>(d));
    too_high =
        _mm_or_si128(too_high, put_pairs(_mm256_set_m128i(digits(b), digits(a)), _mm256_set_m128i(digits(d), digits(c)),
                                         scales, most, doubt, values + i, indices + i));
  }
  return _mm_movemask_epi8(too_high) == 0 && !any(doubt);
}

template <class T>
BATCHFEED_INLINE unsigned store(const Form& form, const char* p, bool brief, std::uint64_t dim, T* values,
                                std::int32_t* indices) noexcept {
  const __m128i most = most_of(dim, brief);
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      const __m128i too_high = put_brief(digits(form, p, 0, 2), digits(form, p, 1, 3),
                                         _mm_load_ps(form.brief_scales.data()), most, values, indices);
      return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(too_high)));
    }
  }
  __m256i doubt = _mm256_setzero_si256();
  const auto put = [&](unsigned i) BATCHFEED_AVX2 {
    const __m128d scales = _mm_load_pd(form.scales.data() + i);
    return put_pairs(digits(form, p, 2 * i, 2 * i + 1), digits(form, p, 2 * i + 2, 2 * i + 3),
                     _mm256_set_m128d(scales, scales), most, doubt, values + i, indices + i);
  };
  const __m128i too_high = _mm_or_si128(put(0), put(2));
  return _mm_movemask_epi8(too_high) == 0 && !any(doubt) ? 0 : ~0u;
}

template <class T>
BATCHFEED_AVX2 const char* alike_long(const char* p, T* out, DenseRoom& room, unsigned& few) noexcept {
  if (few == kMostFew || *p != ' ') return p;
  const Reached<T> reached = alike_long(p, out + room.count, out + room.dim, few);
  room.count = static_cast<std::uint64_t>(reached.at - out);
  return reached.p;
}

}  // namespace
}  // namespace avx2

BATCHFEED_AVX2 const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept {
  return avx2::dense(p, out, room);
}
BATCHFEED_AVX2 const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept {
  return avx2::dense(p, out, room);
}
BATCHFEED_AVX2 const char* alike_long_avx2(const char* p, float* out, DenseRoom& room, unsigned& few) noexcept {
  return avx2::alike_long(p, out, room, few);
}
BATCHFEED_AVX2 const char* alike_long_avx2(const char* p, double* out, DenseRoom& room, unsigned& few) noexcept {
  return avx2::alike_long(p, out, room, few);
}
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<float>& room) noexcept {
  return avx2::sparse(p, room);
}
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<double>& room) noexcept {
  return avx2::sparse(p, room);
}

}  // namespace batchfeed::ctf

#endif
