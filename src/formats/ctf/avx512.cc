// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time. Masks say where tokens end; points, signs
// and the zero in front of a point are squeezed out; each token's digits are then
// drawn to the right end of a lane of 4, 8 or 16 bytes, and multiply-adds make a
// number of every lane at once. A block with anything else in it is left to scan.h.
#include "formats/ctf/avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <bit>
#include <type_traits>

#include "formats/ctf/bytes.h"
#include "text/number.h"

#define BATCHFEED_AVX512_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt"
#define BATCHFEED_AVX512 __attribute__((target(BATCHFEED_AVX512_TARGET)))
#define BATCHFEED_AVX512_INLINE __attribute__((target(BATCHFEED_AVX512_TARGET), always_inline)) inline

namespace batchfeed::ctf {
namespace {

using Lanes = std::array<std::uint8_t, 64>;

template <class Value>
constexpr Lanes lanes(Value value) {
  Lanes out{};
  for (unsigned i = 0; i < 64; ++i) out[i] = static_cast<std::uint8_t>(value(i));
  return out;
}
alignas(64) constexpr Lanes kIota = lanes([](unsigned i) { return i; });
// The token of each byte in lanes of 4, 8 or 16 bytes, and how far the byte is from the lane's end.
alignas(64) constexpr Lanes kToken4 = lanes([](unsigned i) { return i / 4; });
alignas(64) constexpr Lanes kToken8 = lanes([](unsigned i) { return i / 8; });
alignas(64) constexpr Lanes kToken16 = lanes([](unsigned i) { return i / 16; });
alignas(64) constexpr Lanes kFromEnd4 = lanes([](unsigned i) { return 4 - i % 4; });
alignas(64) constexpr Lanes kFromEnd8 = lanes([](unsigned i) { return 8 - i % 8; });
alignas(64) constexpr Lanes kFromEnd16 = lanes([](unsigned i) { return 16 - i % 16; });

// Powers of ten by the distance of the point from the token's end: 0 has no point, 1 no digit behind it.
alignas(64) constexpr std::array<float, 16> kTenF = {1e0F, 1e0F, 1e1F, 1e2F,  1e3F, 1e4F, 1e5F, 1e6F,
                                                     1e7F, 1e8F, 1e9F, 1e10F, 0,    0,    0,    0};
alignas(64) constexpr std::array<double, 16> kTenD = {1e0, 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,
                                                      1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
alignas(64) constexpr std::array<double, 16> kTenthD = {1e0,  1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,
                                                        1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14};

BATCHFEED_AVX512_INLINE __m512i all(char c) noexcept { return _mm512_set1_epi8(c); }
BATCHFEED_AVX512_INLINE __m512i load(const Lanes& lanes) noexcept { return _mm512_load_si512(lanes.data()); }
// The lowest n bits, and how many there are up to the highest one.
BATCHFEED_AVX512_INLINE std::uint64_t first(unsigned n) noexcept { return _bzhi_u64(~std::uint64_t{0}, n); }
BATCHFEED_AVX512_INLINE unsigned width(std::uint64_t bits) noexcept {
  return static_cast<unsigned>(std::bit_width(bits));
}

// The bytes of `x` before the sample's end, and the separators that end a token.
struct Block {
  __m512i x;
  std::uint64_t separators;
  unsigned stop;  // the byte that ends the sample, or 64
  bool odd;       // that byte is nothing for this path
};

template <char kLast>
BATCHFEED_AVX512_INLINE Block load_block(const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  const std::uint64_t tabs = _mm512_cmpeq_epi8_mask(x, all('\t'));
  const std::uint64_t blanks = _mm512_cmpeq_epi8_mask(x, all(' ')) | tabs;
  // Bytes from 80 on are negative here.
  const std::uint64_t stops = _mm512_cmpgt_epi8_mask(x, all(kLast)) | (_mm512_cmplt_epi8_mask(x, all(' ')) & ~tabs);
  Block block{.x = x, .separators = blanks, .stop = 64, .odd = false};
  if (stops == 0) return block;
  block.stop = static_cast<unsigned>(std::countr_zero(stops));
  block.separators &= first(block.stop);
  block.odd = !ends_sample(p[block.stop]);
  // A token that the end of the sample ends; after a blank there is none.
  if (!block.odd && block.stop != 0 && (blanks >> (block.stop - 1) & 1) == 0)
    block.separators |= std::uint64_t{1} << block.stop;
  return block;
}

// The digits of a block without points, signs and zeros in front of a point.
struct Squeezed {
  __m512i digits;
  std::uint64_t kept;  // bytes of the block that are left
  std::uint64_t dots;
  std::uint64_t pointed;  // separators of tokens with a point
  std::uint64_t minus;
  bool plain;  // nothing but numbers (which may have no digits yet)
};

// `ends`: separators, the last one is the last byte looked at.
BATCHFEED_AVX512_INLINE Squeezed squeeze(__m512i x, std::uint64_t ends) noexcept {
  const std::uint64_t inside = first(width(ends));
  const std::uint64_t starts = (ends << 1 | 1) & inside;
  const std::uint64_t dots = _mm512_cmpeq_epi8_mask(x, all('.')) & inside;
  const std::uint64_t minus = _mm512_cmpeq_epi8_mask(x, all('-')) & inside;
  const std::uint64_t zeros = _mm512_cmpeq_epi8_mask(x, all('0')) & (starts | minus << 1) & dots >> 1;
  const std::uint64_t kept = inside & ~(dots | minus | zeros);
  // A point carries through the rest of its token into the separator; two of one token meet there.
  const std::uint64_t pointed = (~ends + dots) & ends;
  const __m512i digits = _mm512_maskz_compress_epi8(kept, _mm512_sub_epi8(x, all('0')));
  const std::uint64_t others = _mm512_cmpgt_epu8_mask(digits, all(9));
  const std::uint64_t bad = (minus & ~starts) | (starts & ends) | (others ^ _pext_u64(ends, kept));
  return {digits, kept, dots, pointed, minus, bad == 0 && std::popcount(pointed) == std::popcount(dots)};
}

// A byte (or bit) for each token: where it ends among the digits, how many it has, how far its point is
// from its end (0: it has none), its sign.
struct Tokens {
  __m512i digits, ends, lengths, points;
  std::uint64_t negative;
};

// Tokens end and begin at these places: among the digits, and in the block.
BATCHFEED_AVX512_INLINE Tokens tokens_of(const Squeezed& s, std::uint64_t kept_ends, std::uint64_t kept_begins,
                                         std::uint64_t ends, std::uint64_t begins) noexcept {
  const __m512i iota = load(kIota);
  const __m512i end = _mm512_maskz_compress_epi8(kept_ends, iota);
  const __m512i begin = _mm512_maskz_compress_epi8(kept_begins, iota);
  const __m512i point = _mm512_maskz_compress_epi8(s.dots | (ends & ~s.pointed), iota);
  return {.digits = s.digits,
          .ends = end,
          .lengths = _mm512_sub_epi8(end, begin),
          .points = _mm512_sub_epi8(_mm512_maskz_compress_epi8(ends, iota), point),
          .negative = _pext_u64(s.minus, begins)};
}

// The digits of the tokens from `at` on, each at the right end of a lane; zeros in front.
BATCHFEED_AVX512_INLINE __m512i spread(const Tokens& t, const Lanes& token, const Lanes& from_end,
                                       unsigned at) noexcept {
  const __m512i which = _mm512_add_epi8(load(token), all(static_cast<char>(at)));
  const __m512i end = _mm512_permutexvar_epi8(which, t.ends), length = _mm512_permutexvar_epi8(which, t.lengths);
  const __m512i back = load(from_end);
  return _mm512_maskz_permutexvar_epi8(_mm512_cmple_epu8_mask(back, length), _mm512_sub_epi8(end, back), t.digits);
}
// Numbers of 4 digits in lanes of 32 bits, of 8 in lanes of 64.
BATCHFEED_AVX512_INLINE __m512i four_digits(__m512i spread) noexcept {
  return _mm512_madd_epi16(_mm512_maddubs_epi16(spread, _mm512_set1_epi16(0x010A)), _mm512_set1_epi32(0x00010064));
}
BATCHFEED_AVX512_INLINE __m512i eight_digits(__m512i spread) noexcept {
  const __m512i fours = four_digits(spread);
  return _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10'000)), _mm512_srli_epi64(fours, 32));
}
BATCHFEED_AVX512_INLINE __m512i sixteen_digits(__m512i even, __m512i odd) noexcept {
  return _mm512_add_epi64(_mm512_mullo_epi64(even, _mm512_set1_epi64(100'000'000)), odd);
}

// Up to 16 numbers of up to 4 digits: both operands are exact, the division rounds once.
BATCHFEED_AVX512_INLINE void store_short(const Tokens& t, unsigned at, unsigned n, bool points, float* out) noexcept {
  __m512 value = _mm512_cvtepi32_ps(four_digits(spread(t, kToken4, kFromEnd4, at)));
  if (points) {
    const __m512i which = _mm512_add_epi8(load(kIota), all(static_cast<char>(at)));
    const __m512i point = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(_mm512_permutexvar_epi8(which, t.points)));
    value = _mm512_div_ps(value, _mm512_permutexvar_ps(point, _mm512_load_ps(kTenF.data())));
  }
  const auto negative = static_cast<__mmask16>(t.negative >> at);
  value = _mm512_mask_xor_ps(value, negative, value, _mm512_set1_ps(-0.0F));
  _mm512_mask_storeu_ps(out + at, static_cast<__mmask16>(first(n - at)), value);
}

// Up to 8 whole numbers with the place of the point. Returns the lanes whose rounding is in doubt.
BATCHFEED_AVX512_INLINE __mmask8 store_scaled(const Tokens& t, unsigned at, unsigned n, __m512i mantissa,
                                              float* out) noexcept {
  const __m512i which = _mm512_add_epi8(load(kToken8), all(static_cast<char>(at)));
  const __m512i point = _mm512_maskz_permutexvar_epi8(0x0101010101010101u, which, t.points);
  const __m512d tenth =
      _mm512_permutex2var_pd(_mm512_load_pd(kTenthD.data()), point, _mm512_load_pd(kTenthD.data() + 8));
  // See text/number.h: in doubt only near the middle between two floats.
  const __m512d d = _mm512_mul_pd(_mm512_cvtepi64_pd(mantissa), tenth);
  const __m512i low = _mm512_and_si512(_mm512_castpd_si512(d), _mm512_set1_epi64(0x1FFFFFFF));
  const auto taken = static_cast<__mmask8>(first(n - at));
  const __mmask8 doubt = _mm512_mask_cmple_epu64_mask(taken, _mm512_sub_epi64(low, _mm512_set1_epi64(0x10000000 - 4)),
                                                      _mm512_set1_epi64(8));
  __m256 value = _mm512_cvtpd_ps(d);
  value = _mm256_mask_xor_ps(value, static_cast<__mmask8>(t.negative >> at), value, _mm256_set1_ps(-0.0F));
  _mm256_mask_storeu_ps(out + at, taken, value);
  return doubt;
}
BATCHFEED_AVX512_INLINE __mmask8 store_scaled(const Tokens& t, unsigned at, unsigned n, __m512i mantissa,
                                              double* out) noexcept {
  const __m512i which = _mm512_add_epi8(load(kToken8), all(static_cast<char>(at)));
  const __m512i point = _mm512_maskz_permutexvar_epi8(0x0101010101010101u, which, t.points);
  const __m512d ten = _mm512_permutex2var_pd(_mm512_load_pd(kTenD.data()), point, _mm512_load_pd(kTenD.data() + 8));
  // At most 15 digits are exact.
  __m512d value = _mm512_div_pd(_mm512_cvtepi64_pd(mantissa), ten);
  value = _mm512_mask_xor_pd(value, static_cast<__mmask8>(t.negative >> at), value, _mm512_set1_pd(-0.0));
  _mm512_mask_storeu_pd(out + at, static_cast<__mmask8>(first(n - at)), value);
  return 0;
}

// n tokens to out[0..n); false where scan.h must decide about one of them.
template <class T>
BATCHFEED_AVX512_INLINE bool store(const Tokens& t, unsigned n, bool points, T* out) noexcept {
  const std::uint64_t mine = first(n);
  if ((_mm512_cmpeq_epi8_mask(t.lengths, _mm512_setzero_si512()) & mine) != 0) return false;
  if constexpr (std::is_same_v<T, float>) {
    if ((_mm512_cmpgt_epu8_mask(t.lengths, all(4)) & mine) == 0) {
      for (unsigned at = 0; at < n; at += 16) store_short(t, at, n, points, out);
      return true;
    }
  }
  __mmask8 doubt = 0;
  if ((_mm512_cmpgt_epu8_mask(t.lengths, all(8)) & mine) == 0) {
    for (unsigned at = 0; at < n; at += 8)
      doubt |= store_scaled(t, at, n, eight_digits(spread(t, kToken8, kFromEnd8, at)), out);
    return doubt == 0;
  }
  if (((_mm512_cmpgt_epu8_mask(t.lengths, all(15)) | _mm512_cmpgt_epu8_mask(t.points, all(15))) & mine) != 0)
    return false;
  for (unsigned at = 0; at < n; at += 8) {
    const __m512i a = eight_digits(spread(t, kToken16, kFromEnd16, at));
    const __m512i b = eight_digits(spread(t, kToken16, kFromEnd16, at + 4));
    const __m512i even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    const __m512i odd = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
    doubt |= store_scaled(t, at, n, sixteen_digits(even, odd), out);
  }
  return doubt == 0;
}

template <class T>
BATCHFEED_AVX512_INLINE const char* dense(const char* p, T* out, DenseRoom& room) noexcept {
  if (!is_blank(*p)) return p;
  for (const char* start = p + 1;;) {
    const Block block = load_block<'9'>(start);
    const std::uint64_t ends = block.separators;
    if (ends != 0) {
      const Squeezed s = squeeze(block.x, ends);
      const auto n = static_cast<unsigned>(std::popcount(ends));
      if (!s.plain || room.count + n > room.dim) return start - 1;
      const std::uint64_t kept_ends = _pext_u64(ends, s.kept);
      const Tokens tokens = tokens_of(s, kept_ends, kept_ends << 1 | 1, ends, ends << 1 | 1);
      if (!store(tokens, n, s.dots != 0, out + room.count)) return start - 1;
      room.count += n;
    }
    if (block.stop != 64 && !block.odd) return start + block.stop;
    if (block.odd || ends == 0) return start - 1 + width(ends);
    start += width(ends);
  }
}

// The indices of n pairs to out[0..n); false where scan.h must decide about one of them.
BATCHFEED_AVX512_INLINE bool store_indices(const Tokens& t, unsigned n, std::uint64_t dim, std::int32_t* out) noexcept {
  const std::uint64_t mine = first(n);
  if (((_mm512_cmpeq_epi8_mask(t.lengths, _mm512_setzero_si512()) | _mm512_cmpgt_epu8_mask(t.lengths, all(8))) &
       mine) != 0)
    return false;
  if ((_mm512_cmpgt_epu8_mask(t.lengths, all(4)) & mine) == 0) {
    const __m512i index = four_digits(spread(t, kToken4, kFromEnd4, 0));
    const auto taken = static_cast<__mmask16>(mine);
    if (_mm512_mask_cmpge_epu32_mask(taken, index, _mm512_set1_epi32(static_cast<int>(dim))) != 0) return false;
    _mm512_mask_storeu_epi32(out, taken, index);
    return true;
  }
  for (unsigned at = 0; at < n; at += 8) {
    const __m512i index = eight_digits(spread(t, kToken8, kFromEnd8, at));
    const auto taken = static_cast<__mmask8>(first(n - at));
    if (_mm512_mask_cmpge_epu64_mask(taken, index, _mm512_set1_epi64(static_cast<long long>(dim))) != 0) return false;
    _mm512_mask_cvtepi64_storeu_epi32(out + at, taken, index);
  }
  return true;
}

template <class T>
BATCHFEED_AVX512_INLINE const char* sparse(const char* p, SparseRoom<T>& room) noexcept {
  if (!is_blank(*p)) return p;
  for (const char* start = p + 1;;) {
    const Block block = load_block<':'>(start);
    const std::uint64_t blanks = block.separators;
    if (blanks != 0) {
      const std::uint64_t colons = _mm512_cmpeq_epi8_mask(block.x, all(':')) & first(width(blanks));
      const std::uint64_t ends = blanks | colons;
      const auto n = static_cast<unsigned>(std::popcount(blanks));
      const Squeezed s = squeeze(block.x, ends);
      // Index and value take turns, and an index has digits only.
      const std::uint64_t indices = blanks << 1 | 1;
      const bool pairs = _pext_u64(colons, ends) == (0x5555555555555555u & first(2 * n)) &&
                         ((s.pointed & colons) | (s.minus & indices)) == 0;
      if (!s.plain || !pairs || room.count + n > room.capacity) return start - 1;
      const std::uint64_t kept_blanks = _pext_u64(blanks, s.kept), kept_colons = _pext_u64(colons, s.kept);
      const Tokens index = tokens_of(s, kept_colons, kept_blanks << 1 | 1, colons, indices);
      const Tokens value = tokens_of(s, kept_blanks, kept_colons << 1, blanks, colons << 1);
      if (!store_indices(index, n, room.dim, room.indices + room.count) ||
          !store(value, n, s.dots != 0, room.values + room.count))
        return start - 1;
      room.count += n;
    }
    if (block.stop != 64 && !block.odd) return start + block.stop;
    if (block.odd || blanks == 0) return start - 1 + width(blanks);
    start += width(blanks);
  }
}

}  // namespace

BATCHFEED_AVX512 const char* dense_avx512(const char* p, float* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}
BATCHFEED_AVX512 const char* dense_avx512(const char* p, double* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}
BATCHFEED_AVX512 const char* sparse_avx512(const char* p, SparseRoom<float>& room) noexcept { return sparse(p, room); }
BATCHFEED_AVX512 const char* sparse_avx512(const char* p, SparseRoom<double>& room) noexcept { return sparse(p, room); }

}  // namespace batchfeed::ctf

#endif
