// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time (tokens.inc): multiplications of narrow lanes and
// sums of neighbours make numbers of four tokens at once. A block with anything else in
// it is left to scan.h.
#include "formats/ctf/neon.h"

#if defined(__aarch64__)

#include <arm_neon.h>

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

#define BATCHFEED_INLINE __attribute__((always_inline)) inline
#define BATCHFEED_APART __attribute__((noinline))

namespace batchfeed::ctf {
namespace neon {
namespace {

constexpr unsigned kBriefTurn = 4, kTurn = 4, kPairsTurn = 4;

BATCHFEED_INLINE uint8x16_t bytes_at(const void* p) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(p)); }

struct Bytes {
  uint8x16_t a, b, c, d;
};
BATCHFEED_INLINE Bytes load(const char* p) noexcept {
  return {bytes_at(p), bytes_at(p + 16), bytes_at(p + 32), bytes_at(p + 48)};
}
// A bit for each byte of comparisons.
BATCHFEED_INLINE std::uint64_t mask(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) noexcept {
  const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
  const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
  const uint8x16_t all = vpaddq_u8(ab, cd);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}
BATCHFEED_INLINE std::uint64_t equal(const Bytes& x, char c) noexcept {
  const uint8x16_t wanted = vdupq_n_u8(static_cast<std::uint8_t>(c));
  return mask(vceqq_u8(x.a, wanted), vceqq_u8(x.b, wanted), vceqq_u8(x.c, wanted), vceqq_u8(x.d, wanted));
}
BATCHFEED_INLINE std::uint64_t digits_of(const Bytes& x) noexcept {
  const auto digit = [](uint8x16_t v) { return vcltq_u8(vsubq_u8(v, vdupq_n_u8('0')), vdupq_n_u8(10)); };
  return mask(digit(x.a), digit(x.b), digit(x.c), digit(x.d));
}
BATCHFEED_INLINE std::uint64_t lowest(std::uint64_t bits) noexcept {
  return static_cast<std::uint64_t>(std::countr_zero(bits));
}
BATCHFEED_INLINE std::uint64_t width(std::uint64_t bits) noexcept {
  return static_cast<std::uint64_t>(std::bit_width(bits));
}
BATCHFEED_INLINE std::uint64_t first(std::uint64_t n) noexcept { return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - n); }

struct LongToken {
  std::uint64_t digits, dots, exponents, ends;
};
constexpr std::uint64_t kLongest = 63;
BATCHFEED_INLINE LongToken long_token_at(const char* p) noexcept {
  const Bytes x = load(p);
  const auto end = [](uint8x16_t v) { return vorrq_u8(vcleq_u8(v, vdupq_n_u8(' ')), vceqq_u8(v, vdupq_n_u8('|'))); };
  return {.digits = digits_of(x),
          .dots = equal(x, '.'),
          .exponents = equal(x, 'e') | equal(x, 'E'),
          .ends = mask(end(x.a), end(x.b), end(x.c), end(x.d))};
}
BATCHFEED_INLINE std::uint64_t mantissa(const char* point, std::uint64_t whole, const char* end,
                                        std::uint64_t fraction) noexcept {
  // What the last n <= 8 bytes in front of p spell.
  const auto spelled = [](const char* p, std::uint64_t n) {
    return text::spell_eight(text::eight_digits(p - 8) & ~first(64 - 8 * n));
  };
  const std::uint64_t last = std::min<std::uint64_t>(fraction, 8), middle = std::min<std::uint64_t>(fraction - last, 8);
  return spelled(point, whole) * kWholeTens[fraction] + spelled(end - 16, fraction - last - middle) * kWholeTens[16] +
         spelled(end - 8, middle) * kWholeTens[8] + spelled(end, last);
}

#include "formats/ctf/tokens.inc"

// The digits of a token, other bytes 0.
BATCHFEED_INLINE uint8x16_t digits(const Token& token) noexcept {
  return vqsubq_u8(vqtbl1q_u8(bytes_at(token.end - 16), bytes_at(token.shuffle->data())), vdupq_n_u8('0'));
}
// The numbers that the 8 digits of each half of a, then of b, spell.
BATCHFEED_INLINE uint32x4_t eight_digits(uint8x16_t a, uint8x16_t b) noexcept {
  const uint8x16_t ten = {10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1};
  const uint8x16_t twos = vpaddq_u8(vmulq_u8(a, ten), vmulq_u8(b, ten));
  const uint8x8_t hundred = {100, 1, 100, 1, 100, 1, 100, 1};
  const uint16x8_t fours = vpaddq_u16(vmull_u8(vget_low_u8(twos), hundred), vmull_u8(vget_high_u8(twos), hundred));
  const uint16x4_t myriad = {10'000, 1, 10'000, 1};
  return vpaddq_u32(vmull_u16(vget_low_u16(fours), myriad), vmull_u16(vget_high_u16(fours), myriad));
}
// Two numbers of 16 digits as doubles: exact up to 15 digits, else rounded once.
BATCHFEED_INLINE float64x2_t mantissas(uint32x2_t high, uint32x2_t low) noexcept {
  return vaddq_f64(vmulq_f64(vcvtq_f64_u64(vmovl_u32(high)), vdupq_n_f64(1e8)), vcvtq_f64_u64(vmovl_u32(low)));
}
// Two values, scaled. Notes in `doubt` where scan.h must decide.
BATCHFEED_INLINE float32x2_t scaled(uint32x2_t high, uint32x2_t low, float64x2_t scale, uint64x2_t& doubt,
                                    float /*as*/) noexcept {
  const float64x2_t d = vmulq_f64(mantissas(high, low), scale);
  // See text/scale.h: in doubt only near the middle between two floats.
  const uint64x2_t rest = vandq_u64(vreinterpretq_u64_f64(d), vdupq_n_u64(0x1FFFFFFF));
  doubt = vorrq_u64(doubt, vcleq_u64(vsubq_u64(rest, vdupq_n_u64(0x10000000 - 4)), vdupq_n_u64(8)));
  return vcvt_f32_f64(d);
}
BATCHFEED_INLINE float64x2_t scaled(uint32x2_t high, uint32x2_t low, float64x2_t scale, uint64x2_t& doubt,
                                    double /*as*/) noexcept {
  doubt = vorrq_u64(doubt, vmovl_u32(vcgt_u32(high, vdup_n_u32(9'999'999))));
  return vdivq_f64(mantissas(high, low), scale);
}
template <class T>
BATCHFEED_INLINE float64x2_t scales_of(const Token& a, const Token& b) noexcept {
  return float64x2_t{scale_of<T>(a), scale_of<T>(b)};
}
BATCHFEED_INLINE float32x4_t brief_scales(const Token& a, const Token& b, const Token& c, const Token& d) noexcept {
  const float* const scales = kShortTens[0].data();
  return float32x4_t{scales[a.scale], scales[b.scale], scales[c.scale], scales[d.scale]};
}

BATCHFEED_INLINE void put_two(float* out, float32x2_t values) noexcept { vst1_f32(out, values); }
BATCHFEED_INLINE void put_two(double* out, float64x2_t values) noexcept { vst1q_f64(out, values); }

BATCHFEED_INLINE void put_four(float* out, uint32x4_t whole) noexcept { vst1q_f32(out, vcvtq_f32_u32(whole)); }
BATCHFEED_INLINE void put_four(double* out, uint32x4_t whole) noexcept {
  vst1q_f64(out, vcvtq_f64_u64(vmovl_u32(vget_low_u32(whole))));
  vst1q_f64(out + 2, vcvtq_f64_u64(vmovl_u32(vget_high_u32(whole))));
}
template <class T>
BATCHFEED_INLINE void store(const Whole& whole, T* out) noexcept {
  const Bytes x = load(whole.p), before = load(whole.p - 1);
  uint8x16_t last = vdupq_n_u8(0);
  // For each byte: what it and the digit before it spell (low), and what the two digits before those spell (high).
  const auto put = [&](uint8x16_t v, uint8x16_t v1, std::uint64_t ends) {
    const uint8x16_t zero = vdupq_n_u8('0'), below = vdupq_n_u8('0' - 1);
    const uint8x16_t sum = vmlaq_u8(vqsubq_u8(v, zero), vqsubq_u8(v1, zero), vdupq_n_u8(10));
    const uint8x16_t low = vandq_u8(sum, vcgtq_u8(v, below));
    const uint8x16_t high = vandq_u8(vextq_u8(last, low, 14), vcgtq_u8(v1, below));
    last = low;
    // Each store writes four values; those too many are overwritten by the next.
    const auto draw = [&](uint8x16_t pairs, std::uint64_t some) {
      const uint32x4_t drawn = vreinterpretq_u32_u8(vqtbl1q_u8(pairs, bytes_at(kEndShuffles.at[some].data())));
      put_four(out, vmlaq_u32(vandq_u32(drawn, vdupq_n_u32(0xFF)), vshrq_n_u32(drawn, 8), vdupq_n_u32(100)));
      out += std::popcount(some);
    };
    draw(vzip1q_u8(low, high), ends & 0xFF);
    draw(vzip2q_u8(low, high), ends >> 8 & 0xFF);
  };
  put(x.a, before.a, whole.ends);
  put(x.b, before.b, whole.ends >> 16);
  put(x.c, before.c, whole.ends >> 32);
  put(x.d, before.d, whole.ends >> 48);
}

BATCHFEED_INLINE bool any(uint64x2_t doubt) noexcept {
  return (vgetq_lane_u64(doubt, 0) | vgetq_lane_u64(doubt, 1)) != 0;
}
BATCHFEED_INLINE bool any(uint32x4_t doubt) noexcept { return vmaxvq_u32(doubt) != 0; }

// The last eight bytes of both.
BATCHFEED_INLINE uint8x16_t second_halves(uint8x16_t a, uint8x16_t b) noexcept {
  return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
}

template <class T>
BATCHFEED_INLINE bool store(Tokens& tokens, unsigned n, bool brief, T* out) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      // Whole number and power of ten are exact as float, so the division rounds once.
      for (unsigned i = 0; i < n; i += 4) {
        const Token a = tokens.next(), b = tokens.next(), c = tokens.next(), d = tokens.next();
        const uint32x4_t whole = eight_digits(second_halves(digits(a), digits(b)), second_halves(digits(c), digits(d)));
        vst1q_f32(out + i, vdivq_f32(vcvtq_f32_u32(whole), brief_scales(a, b, c, d)));
      }
      return true;
    }
  }
  uint64x2_t doubt = vdupq_n_u64(0);
  for (unsigned i = 0; i < n; i += 2) {
    const Token a = tokens.next(), b = tokens.next();
    // `eights`: the first 8 of the 16 digits of a, the last 8, then those of b.
    const uint32x4_t eights = eight_digits(digits(a), digits(b));
    const uint32x2_t high = vget_low_u32(vuzp1q_u32(eights, eights)), low = vget_low_u32(vuzp2q_u32(eights, eights));
    put_two(out + i, scaled(high, low, scales_of<T>(a, b), doubt, T()));
  }
  return !any(doubt);
}

// 0 for each byte that is of the form.
BATCHFEED_INLINE Bytes above(const Form& form, const char* p) noexcept {
  const Bytes x = load(p), bytes = load(form.bytes.data()), most = load(form.most.data());
  const auto above = [](uint8x16_t v, uint8x16_t as, uint8x16_t at_most) { return vcgtq_u8(veorq_u8(v, as), at_most); };
  return {above(x.a, bytes.a, most.a), above(x.b, bytes.b, most.b), above(x.c, bytes.c, most.c),
          above(x.d, bytes.d, most.d)};
}
BATCHFEED_INLINE bool alike(const Form& form, const char* p) noexcept {
  const Bytes bytes = above(form, p);
  return vmaxvq_u8(vorrq_u8(vorrq_u8(bytes.a, bytes.b), vorrq_u8(bytes.c, bytes.d))) == 0;
}
BATCHFEED_INLINE std::uint64_t unlike(const Form& form, const char* p) noexcept {
  const Bytes bytes = above(form, p);
  return mask(bytes.a, bytes.b, bytes.c, bytes.d);
}
BATCHFEED_INLINE uint8x16_t digits(const Form& form, const char* p, unsigned i) noexcept {
  return vqsubq_u8(vqtbl1q_u8(bytes_at(p + form.at[i]), bytes_at(form.digits[i].data())), vdupq_n_u8('0'));
}
template <class T>
BATCHFEED_INLINE bool store(const Form& form, const char* p, bool brief, T* out) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      for (unsigned i = 0; i < form.n; i += 4) {
        const uint32x4_t whole = eight_digits(digits(form, p, i / 2), digits(form, p, i / 2 + 1));
        vst1q_f32(out + i, vdivq_f32(vcvtq_f32_u32(whole), vld1q_f32(form.brief_scales.data() + i)));
      }
      return true;
    }
  }
  uint64x2_t doubt = vdupq_n_u64(0);
  for (unsigned i = 0; i < form.n; i += 2) {
    const uint32x4_t eights = eight_digits(digits(form, p, i), digits(form, p, i + 1));
    const uint32x2_t high = vget_low_u32(vuzp1q_u32(eights, eights)), low = vget_low_u32(vuzp2q_u32(eights, eights));
    put_two(out + i, scaled(high, low, vld1q_f64(form.scales.data() + i), doubt, T()));
  }
  return !any(doubt);
}

// The 16 bytes up to a blank, of the form or noted in `others`; of two brief numbers the 8 up to each blank.
BATCHFEED_INLINE uint8x16_t digits(const Form& form, uint8x16_t text, uint8x16_t& others) noexcept {
  const uint8x16_t bytes = bytes_at(form.bytes.data()), most = bytes_at(form.most.data());
  others = vorrq_u8(others, vcgtq_u8(veorq_u8(text, bytes), most));
  return vqsubq_u8(vqtbl1q_u8(text, bytes_at(form.digits[0].data())), vdupq_n_u8('0'));
}
template <class T>
BATCHFEED_INLINE bool store(const Form& form, const Signed<kTurn>& numbers, T* out) noexcept {
  const auto& [ends, negative] = numbers;
  uint8x16_t others = vdupq_n_u8(0);
  if constexpr (std::is_same_v<T, float>) {
    if (form.brief) {
      const auto two = [&](unsigned i) {
        const auto eight = [&](unsigned j) { return vld1_u8(reinterpret_cast<const std::uint8_t*>(ends[j] - 7)); };
        return digits(form, vcombine_u8(eight(i), eight(i + 1)), others);
      };
      const uint8x16_t front = two(0), back = two(2);
      const float* const scales = form.brief_scales.data();
      const float32x4_t scale = {scales[negative[0]], scales[negative[1]], scales[negative[2]], scales[negative[3]]};
      vst1q_f32(out, vdivq_f32(vcvtq_f32_u32(eight_digits(front, back)), scale));
      return vmaxvq_u8(others) == 0;
    }
  }
  uint64x2_t doubt = vdupq_n_u64(0);
  for (unsigned i = 0; i < kTurn; i += 2) {
    const uint8x16_t a = digits(form, bytes_at(ends[i] - 15), others);
    const uint8x16_t b = digits(form, bytes_at(ends[i + 1] - 15), others);
    const uint32x4_t eights = eight_digits(a, b);
    const uint32x2_t high = vget_low_u32(vuzp1q_u32(eights, eights)), low = vget_low_u32(vuzp2q_u32(eights, eights));
    const float64x2_t scale = {form.scales[negative[i]], form.scales[negative[i + 1]]};
    put_two(out + i, scaled(high, low, scale, doubt, T()));
  }
  return vmaxvq_u8(others) == 0 && !any(doubt);
}

BATCHFEED_INLINE bool alike(const LongForm& form, const char* end) noexcept {
  const auto above = [&](unsigned i) {
    return vcgtq_u8(veorq_u8(bytes_at(end - 32 + i), bytes_at(form.bytes.data() + i)), bytes_at(form.most.data() + i));
  };
  return vmaxvq_u8(vorrq_u8(above(0), above(16))) == 0;
}
BATCHFEED_INLINE Spelled spelled(const LongForm& form, const char* mark, const char* end) noexcept {
  const auto eight = [](const char* p) { return vld1_u8(reinterpret_cast<const std::uint8_t*>(p)); };
  const auto digits = [&](uint8x16_t text, unsigned i) {
    return vqsubq_u8(vqtbl1q_u8(text, bytes_at(form.digits[i].data())), vdupq_n_u8('0'));
  };
  const uint32x4_t numbers =
      eight_digits(digits(bytes_at(mark - 16), 0), digits(vcombine_u8(eight(mark - 24), eight(end - 8)), 1));
  const std::uint64_t high = vgetq_lane_u32(numbers, 0), low = vgetq_lane_u32(numbers, 1);
  return {vgetq_lane_u32(numbers, 2) * kWholeTens[form.low] + high * kWholeTens[8] + low, vgetq_lane_u32(numbers, 3)};
}

// Stores four brief pairs. Returns where an index is above `highest`.
BATCHFEED_INLINE uint32x4_t put_brief(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d, float32x4_t scales,
                                      std::uint32_t highest, float* values, std::int32_t* indices) noexcept {
  // The numbers of `ab` and `cd` alternate: index, value, index ...
  const uint32x4_t ab = eight_digits(a, b), cd = eight_digits(c, d);
  const uint32x4_t index = vuzp1q_u32(ab, cd), value = vuzp2q_u32(ab, cd);
  vst1q_s32(indices, vreinterpretq_s32_u32(index));
  vst1q_f32(values, vdivq_f32(vcvtq_f32_u32(value), scales));
  return vcgtq_u32(index, vdupq_n_u32(highest));
}
// Stores two pairs: indices a and c, values b and d. The first 8 digits of an index must be 0.
template <class T>
BATCHFEED_INLINE uint32x4_t put_pairs(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d, float64x2_t scales,
                                      std::uint32_t highest, uint64x2_t& doubt, T* values,
                                      std::int32_t* indices) noexcept {
  const uint32x4_t index = eight_digits(a, c), value = eight_digits(b, d);
  vst1_s32(indices, vreinterpret_s32_u32(vget_low_u32(vuzp2q_u32(index, index))));
  const uint32x2_t high = vget_low_u32(vuzp1q_u32(value, value)), low = vget_low_u32(vuzp2q_u32(value, value));
  put_two(values, scaled(high, low, scales, doubt, T()));
  return vcgtq_u32(index, uint32x4_t{0, highest, 0, highest});
}

template <class T>
BATCHFEED_INLINE bool store(Pairs& pairs, unsigned n, bool brief, std::uint64_t dim, T* values,
                            std::int32_t* indices) noexcept {
  const auto highest = static_cast<std::uint32_t>(dim - 1);
  uint32x4_t too_high = vdupq_n_u32(0);
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      for (unsigned i = 0; i < n; i += 4) {
        const Token a = pairs.next(), b = pairs.next(), c = pairs.next(), d = pairs.next();
        too_high = vorrq_u32(too_high, put_brief(digits(a), digits(b), digits(c), digits(d), brief_scales(a, b, c, d),
                                                 highest, values + i, indices + i));
      }
      return !any(too_high);
    }
  }
  uint64x2_t doubt = vdupq_n_u64(0);
  for (unsigned i = 0; i < n; i += 2) {
    Token a, c;
    const Token b = pairs.next(a), d = pairs.next(c);
    too_high = vorrq_u32(too_high, put_pairs(digits(a), digits(b), digits(c), digits(d), scales_of<T>(b, d), highest,
                                             doubt, values + i, indices + i));
  }
  return !any(too_high) && !any(doubt);
}

template <class T>
BATCHFEED_INLINE unsigned store(const Form& form, const char* p, bool brief, std::uint64_t dim, T* values,
                                std::int32_t* indices) noexcept {
  const auto highest = static_cast<std::uint32_t>(dim - 1);
  if constexpr (std::is_same_v<T, float>) {
    if (brief) {
      const uint32x4_t bit = {1, 2, 4, 8};
      const uint32x4_t too_high =
          put_brief(digits(form, p, 0), digits(form, p, 1), digits(form, p, 2), digits(form, p, 3),
                    vld1q_f32(form.brief_scales.data()), highest, values, indices);
      return vaddvq_u32(vandq_u32(too_high, bit));
    }
  }
  uint64x2_t doubt = vdupq_n_u64(0);
  const auto put = [&](unsigned i) {
    return put_pairs(digits(form, p, 2 * i), digits(form, p, 2 * i + 1), digits(form, p, 2 * i + 2),
                     digits(form, p, 2 * i + 3), vld1q_f64(form.scales.data() + i), highest, doubt, values + i,
                     indices + i);
  };
  const uint32x4_t too_high = vorrq_u32(put(0), put(2));
  return !any(too_high) && !any(doubt) ? 0 : ~0u;
}

}  // namespace
}  // namespace neon

const char* dense_neon(const char* p, float* out, DenseRoom& room) noexcept { return neon::dense(p, out, room); }
const char* dense_neon(const char* p, double* out, DenseRoom& room) noexcept { return neon::dense(p, out, room); }
const char* sparse_neon(const char* p, SparseRoom<float>& room) noexcept { return neon::sparse(p, room); }
const char* sparse_neon(const char* p, SparseRoom<double>& room) noexcept { return neon::sparse(p, room); }

}  // namespace batchfeed::ctf

#endif
