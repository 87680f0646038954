// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time: masks say where the blanks and colons are,
// then each number is one 16-byte load that ends with it, a shuffle that drops the
// point and the sign, and three multiply-adds; an index is one 8-byte load. Whatever
// is not a plain short number is left to scan.h.
#include "formats/ctf/avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "formats/ctf/bytes.h"
#include "text/number.h"

#define BATCHFEED_AVX2_TARGET "avx2,bmi,popcnt"
#define BATCHFEED_AVX2 __attribute__((target(BATCHFEED_AVX2_TARGET)))
#define BATCHFEED_AVX2_INLINE __attribute__((target(BATCHFEED_AVX2_TARGET), always_inline)) inline

namespace batchfeed::ctf {
namespace {

using Shuffle = std::array<std::uint8_t, 16>;

// shuffles[k][n] moves the digits of a token to the right end of a vector that
// ends with the token: n bytes without the sign, the point k-1 digits before the
// end (k = 0: none). Free places become 0.
struct alignas(64) Shuffles {
  std::array<std::array<Shuffle, 17>, 17> at{};
  constexpr Shuffles() {
    for (unsigned k = 0; k < 17; ++k) {
      for (unsigned n = 0; n < 17; ++n) {
        unsigned to = 16;
        for (unsigned from_end = 1; from_end <= n; ++from_end) {
          if (from_end != k) at[k][n][--to] = static_cast<std::uint8_t>(16 - from_end);
        }
        while (to > 0) at[k][n][--to] = 0x80;
      }
    }
  }
};
constexpr Shuffles kShuffles;

BATCHFEED_AVX2_INLINE __m128i bytes16(const void* p) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}

// A token [end - length, end) of 1..16 bytes, in front of it whatever there is.
struct Token {
  const char* end;
  unsigned length;
  __m128i digits;  // the last 16 bytes less '0'
  unsigned point;  // how far the point is from the end, 0 if there is none
  bool negative;

  // Where its digits go; nullptr where it has none.
  const Shuffle* shuffle() const noexcept {
    const unsigned n = length - (negative ? 1 : 0);
    return n <= (point != 0 ? 1u : 0u) ? nullptr : &kShuffles.at[point][n];
  }
};

BATCHFEED_AVX2_INLINE Token token_at(const char* end, unsigned length) noexcept {
  const __m128i x = _mm_sub_epi8(bytes16(end - 16), _mm_set1_epi8('0'));
  const unsigned points = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('.' - '0')))) &
                          (0xFFFFu << (16 - length));
  return {.end = end,
          .length = length,
          .digits = x,
          .point = 16 - static_cast<unsigned>(std::countr_zero(points | 0x10000u)),
          .negative = *(end - length) == '-'};
}

// The value of a token whose digits spell `mantissa`; false where it is nothing for this path.
template <class T>
BATCHFEED_AVX2_INLINE bool scale(const Token& token, std::uint64_t mantissa, T& out) noexcept {
  const unsigned fraction = token.point == 0 ? 0 : token.point - 1;
  T value;
  if constexpr (std::is_same_v<T, double>) {
    if (mantissa > (1ull << 53)) return false;
    value = static_cast<double>(static_cast<std::int64_t>(mantissa)) / text::kTen[fraction];
  } else {
    // See text/number.h: in doubt only near the middle between two floats.
    const double d64 = static_cast<double>(static_cast<std::int64_t>(mantissa)) * text::kTenth[fraction];
    if ((std::bit_cast<std::uint64_t>(d64) & 0x1FFFFFFFu) - (0x10000000u - 4) <= 8) {
      bool overflow = false;
      // A byte that is no digit is found at the end; what is read here does not matter then.
      return text::read_number(token.end - token.length, true, out, overflow) == token.end;
    }
    value = static_cast<float>(d64);
  }
  out = token.negative ? -value : value;
  return true;
}

// Bytes that are no digits show in `bad` as something above 9.
template <class T>
BATCHFEED_AVX2_INLINE bool convert(const char* end, unsigned length, T& out, __m128i& bad) noexcept {
  const Token token = token_at(end, length);
  const Shuffle* const shuffle = token.shuffle();
  if (shuffle == nullptr) return false;
  const __m128i d = _mm_shuffle_epi8(token.digits, bytes16(shuffle->data()));
  bad = _mm_max_epu8(bad, d);
  __m128i sum = _mm_maddubs_epi16(d, _mm_set1_epi16(0x010A));
  sum = _mm_madd_epi16(sum, _mm_set1_epi32(0x00010064));
  sum = _mm_packus_epi32(sum, sum);
  sum = _mm_madd_epi16(sum, _mm_set1_epi32(0x00012710));
  const auto halves = static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
  return scale(token, (halves & 0xFFFFFFFFu) * 100'000'000u + (halves >> 32), out);
}

// The same of a value and, in the lower half of each vector, of the index of 1..8 digits that ends at `middle`.
template <class T>
BATCHFEED_AVX2_INLINE bool convert_pair(const char* middle, unsigned index_length, std::uint64_t& index,
                                        const char* end, unsigned length, T& out, __m256i& bad) noexcept {
  const Token token = token_at(end, length);
  const Shuffle* const shuffle = token.shuffle();
  if (shuffle == nullptr) return false;
  const __m128i x = _mm_sub_epi8(bytes16(middle - 16), _mm_set1_epi8('0'));
  const __m256i d =
      _mm256_shuffle_epi8(_mm256_set_m128i(token.digits, x),
                          _mm256_set_m128i(bytes16(shuffle->data()), bytes16(kShuffles.at[0][index_length].data())));
  bad = _mm256_max_epu8(bad, d);
  __m256i sum = _mm256_maddubs_epi16(d, _mm256_set1_epi16(0x010A));
  sum = _mm256_madd_epi16(sum, _mm256_set1_epi32(0x00010064));
  sum = _mm256_packus_epi32(sum, sum);
  sum = _mm256_madd_epi16(sum, _mm256_set1_epi32(0x00012710));
  index = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum))) >> 32;
  const auto halves = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_extracti128_si256(sum, 1)));
  return scale(token, (halves & 0xFFFFFFFFu) * 100'000'000u + (halves >> 32), out);
}

BATCHFEED_AVX2_INLINE std::uint64_t masks(__m256i a, __m256i b) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(a)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(b))) << 32;
}

BATCHFEED_AVX2_INLINE bool any_bad(__m128i bad) noexcept {
  return _mm_movemask_epi8(_mm_or_si128(bad, _mm_cmpgt_epi8(bad, _mm_set1_epi8(9)))) != 0;
}

template <class T>
BATCHFEED_AVX2_INLINE const char* dense(const char* p, T* const first, DenseRoom& room) noexcept {
  if (!is_blank(*p)) return p;
  const __m256i blank = _mm256_set1_epi8(' '), nine = _mm256_set1_epi8('9');
  const char* start = p + 1;
  T* out = first + room.count;
  T* const last = first + room.dim;
  __m128i bad = _mm_setzero_si128();
  // Up to here all is well: of a byte that is no digit `bad` does not tell where in a block it was.
  const char* well = p;
  const auto took = [&](const char* at) __attribute__((target(BATCHFEED_AVX2_TARGET))) {
    if (any_bad(bad)) return well;
    room.count = static_cast<std::uint64_t>(out - first);
    return at;
  };
  for (const char* block = start;; block += 64) {
    if (any_bad(bad)) return well;
    well = start - 1;
    room.count = static_cast<std::uint64_t>(out - first);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
    std::uint64_t blanks = masks(_mm256_cmpeq_epi8(a, blank), _mm256_cmpeq_epi8(b, blank));
    // Above '9', below ' ', or not ASCII (negative): the end of the sample, or nothing for this path.
    const std::uint64_t stops = masks(_mm256_or_si256(_mm256_cmpgt_epi8(a, nine), _mm256_cmpgt_epi8(blank, a)),
                                      _mm256_or_si256(_mm256_cmpgt_epi8(b, nine), _mm256_cmpgt_epi8(blank, b)));
    if (stops != 0) blanks &= (stops & (0 - stops)) - 1;
    while (blanks != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(blanks));
      // Eight numbers of one digit in a row.
      if (at <= 48 && block + at == start + 1 && ((blanks >> at) & 0x7FFF) == 0x5555 && last - out >= 8) {
        __m128i digits = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(start)), _mm_set1_epi8('0'));
        digits = _mm_shuffle_epi8(digits, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1));
        bad = _mm_max_epu8(bad, digits);
        if constexpr (std::is_same_v<T, float>) {
          _mm256_storeu_ps(out, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(digits)));
        } else {
          _mm256_storeu_pd(out, _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(digits)));
          _mm256_storeu_pd(out + 4, _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_srli_si128(digits, 4))));
        }
        out += 8;
        start += 16;
        blanks &= ~(std::uint64_t{0x7FFF} << at);
        continue;
      }
      const char* const end = block + at;
      const auto length = static_cast<std::uint64_t>(end - start);
      if (length - 1 >= 16 || out == last || !convert(end, static_cast<unsigned>(length), *out, bad))
        return took(start - 1);
      ++out;
      start = end + 1;
      blanks &= blanks - 1;
    }
    if (stops == 0) continue;
    const char* const stop = block + std::countr_zero(stops);
    if (!ends_sample(*stop)) return took(start - 1);
    if (const auto length = static_cast<std::uint64_t>(stop - start); length != 0) {
      if (length > 16 || out == last || !convert(stop, static_cast<unsigned>(length), *out, bad))
        return took(start - 1);
      ++out;
    }
    return took(stop);
  }
}

template <class T>
BATCHFEED_AVX2_INLINE const char* sparse(const char* const p, SparseRoom<T>& room) noexcept {
  if (!is_blank(*p)) return p;
  const __m256i blank = _mm256_set1_epi8(' '), colon = _mm256_set1_epi8(':');
  const char* start = p + 1;
  const char* done = nullptr;  // where this ends, once that is known
  std::uint64_t n = room.count;
  __m256i bad = _mm256_setzero_si256();
  while (done == nullptr) {
    const char* const block = start;
    room.count = n;
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
    std::uint64_t blanks = masks(_mm256_cmpeq_epi8(a, blank), _mm256_cmpeq_epi8(b, blank));
    std::uint64_t colons = masks(_mm256_cmpeq_epi8(a, colon), _mm256_cmpeq_epi8(b, colon));
    // Above ':', below ' ', or not ASCII (negative).
    const std::uint64_t stops = masks(_mm256_or_si256(_mm256_cmpgt_epi8(a, colon), _mm256_cmpgt_epi8(blank, a)),
                                      _mm256_or_si256(_mm256_cmpgt_epi8(b, colon), _mm256_cmpgt_epi8(blank, b)));
    const char* stop = nullptr;  // the end of the sample
    if (stops != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(stops));
      const std::uint64_t before = (std::uint64_t{1} << at) - 1;
      const bool ends = ends_sample(block[at]);
      if (ends) stop = block + at;
      // It ends a pair, unless that has been ended by a blank.
      const bool pair = ends && at != 0 && (blanks >> (at - 1) & 1) == 0;
      blanks = (blanks & before) | static_cast<std::uint64_t>(pair) << at;
      colons &= before;
    }
    // As many at a time as mostly are there: the end of a loop that could not be foreseen costs more than to look
    // twice.
    auto pairs = static_cast<unsigned>(std::popcount(blanks));
    if (stops == 0 && pairs >= 4) pairs = pairs >= 8 ? 8 : 4;
    bool plain = true;
    for (; pairs != 0; --pairs, blanks &= blanks - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(blanks));
      const char* const end = block + at;
      const char* const middle = block + std::countr_zero(colons);
      const auto index_length = static_cast<std::uint64_t>(middle - start);
      const auto value_length = static_cast<std::uint64_t>(end - middle - 1);
      colons &= colons - 1;
      std::uint64_t index = 0;
      plain = index_length - 1 < 8 && value_length - 1 < 16 && n != room.capacity &&
              (colons & ((std::uint64_t{1} << at) - 1)) == 0 &&
              convert_pair(middle, static_cast<unsigned>(index_length), index, end, static_cast<unsigned>(value_length),
                           room.values[n], bad) &&
              index < room.dim;
      if (!plain) break;
      room.indices[n++] = static_cast<std::int32_t>(index);
      start = end + 1;
    }
    if (!plain) {
      done = start - 1;
    } else if (stop != nullptr) {
      done = stop;
    } else if (start == block || stops != 0) {
      done = start - 1;
    }
    // Of a byte that is no digit `bad` does not tell where in the block it was.
    if (any_bad(_mm_max_epu8(_mm256_castsi256_si128(bad), _mm256_extracti128_si256(bad, 1)))) return block - 1;
  }
  room.count = n;
  return done;
}

}  // namespace

BATCHFEED_AVX2 const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}
BATCHFEED_AVX2 const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<float>& room) noexcept { return sparse(p, room); }
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<double>& room) noexcept { return sparse(p, room); }

}  // namespace batchfeed::ctf

#endif
