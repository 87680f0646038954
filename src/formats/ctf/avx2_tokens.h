// SPDX-License-Identifier: MIT
//
// The tokens of 64 bytes of text: masks say where they end and where their points and
// signs are, and whether there is anything else. Each is one 16-byte load that ends
// with it and a shuffle that drops the point.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "formats/ctf/bytes.h"

// Every CPU with AVX2 and BMI has LZCNT.
#define BATCHFEED_AVX2_TARGET "avx2,bmi,bmi2,lzcnt,popcnt"
#define BATCHFEED_AVX2 __attribute__((target(BATCHFEED_AVX2_TARGET)))
#define BATCHFEED_AVX2_INLINE __attribute__((target(BATCHFEED_AVX2_TARGET), always_inline)) inline

namespace batchfeed::ctf::avx2 {

using Shuffle = std::array<std::uint8_t, 16>;

// at[k][n + 1] moves the digits of a token to the right end of a vector that ends with the
// token: n bytes, the point k-1 digits before the end (k = 0: none). Free places become 0.
// Rows of 32 are found by a shift.
struct alignas(64) Shuffles {
  std::array<std::array<Shuffle, 32>, 17> at{};
  constexpr Shuffles() {
    for (unsigned k = 0; k < 17; ++k) {
      for (unsigned n = 0; n < 18; ++n) {
        unsigned to = 16;
        for (unsigned from_end = 1; from_end < n; ++from_end) {
          if (from_end != k) at[k][n][--to] = static_cast<std::uint8_t>(16 - from_end);
        }
        while (to > 0) at[k][n][--to] = 0x80;
      }
    }
  }
};
inline constexpr Shuffles kShuffles;

// What a number is multiplied by (floats) or divided by (doubles): [negative][as k above].
using Scales = std::array<std::array<double, 32>, 2>;
constexpr Scales scales(bool tenths) {
  constexpr std::array<double, 16> kTens = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr std::array<double, 16> kTenths = {1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                              1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};
  Scales out{};
  for (unsigned k = 0; k < 17; ++k) {
    const unsigned fraction = k == 0 ? 0 : k - 1;
    out[0][k] = tenths ? kTenths[fraction] : kTens[fraction];
    out[1][k] = -out[0][k];
  }
  return out;
}
inline constexpr Scales kTens = scales(false), kTenths = scales(true);

BATCHFEED_AVX2_INLINE unsigned width(std::uint64_t bits) noexcept {
  return static_cast<unsigned>(std::bit_width(bits));
}
BATCHFEED_AVX2_INLINE std::uint64_t first(unsigned n) noexcept { return _bzhi_u64(~std::uint64_t{0}, n); }

// What the bytes of a block are, a bit for each. Its first byte is the blank in front of a token.
struct Block {
  std::uint64_t digits, blanks, colons, dots, minus;
  std::uint64_t others;  // none of these
};

struct Bytes {
  __m256i a, b;
};
BATCHFEED_AVX2_INLINE Bytes load(const char* p) noexcept {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
BATCHFEED_AVX2_INLINE std::uint64_t mask(__m256i a, __m256i b) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(a)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(b))) << 32;
}
BATCHFEED_AVX2_INLINE std::uint64_t equal(const Bytes& x, char c) noexcept {
  const __m256i wanted = _mm256_set1_epi8(c);
  return mask(_mm256_cmpeq_epi8(x.a, wanted), _mm256_cmpeq_epi8(x.b, wanted));
}
BATCHFEED_AVX2_INLINE std::uint64_t digits_of(const Bytes& x) noexcept {
  // As signed numbers '0' to '9' become the least ten.
  const __m256i shift = _mm256_set1_epi8(static_cast<char>(0x80 - '0')), ten = _mm256_set1_epi8(-128 + 10);
  return mask(_mm256_cmpgt_epi8(ten, _mm256_add_epi8(x.a, shift)), _mm256_cmpgt_epi8(ten, _mm256_add_epi8(x.b, shift)));
}

template <bool kPairs>
BATCHFEED_AVX2_INLINE Block block_at(const char* p) noexcept {
  const Bytes x = load(p);
  Block block{.digits = digits_of(x),
              .blanks = equal(x, ' '),
              .colons = kPairs ? equal(x, ':') : 0,
              .dots = equal(x, '.'),
              .minus = equal(x, '-'),
              .others = 0};
  block.others = ~(block.digits | block.blanks | block.colons | block.dots | block.minus);
  return block;
}

// A block with other bytes in it: tabs are blanks, and the first of the rest ends the block. Returns where the
// kernel ends behind the block; nullptr if it does not.
BATCHFEED_AVX2_INLINE const char* cut(Block& block, const char* p) noexcept {
  const std::uint64_t tabs = equal(load(p), '\t');
  block.blanks |= tabs;
  if (block.others == tabs) return nullptr;
  const auto stop = static_cast<unsigned>(std::countr_zero(block.others & ~tabs));
  block.blanks &= first(stop);
  if (!ends_sample(p[stop])) return p + width(block.blanks) - 1;
  // A token that the end of the sample ends; after a blank there is none.
  if ((block.blanks >> (stop - 1) & 1) == 0) block.blanks |= std::uint64_t{1} << stop;
  return p + stop;
}

// The tokens of a block one after the other; behind the last one, empty ones.
class Tokens {
 public:
  // Tokens lie between separators, the first of which is byte 0, the last one the last byte looked at. Of pairs
  // those in front of values are colons.
  template <bool kPairs>
  BATCHFEED_AVX2_INLINE static Tokens of(const Block& block, const char* p, std::uint64_t separators,
                                         std::uint64_t colons) noexcept {
    const std::uint64_t in_front = kPairs ? colons : separators;
    const std::uint64_t inside = first(width(separators));
    const std::uint64_t dots = block.dots & inside, minus = block.minus & inside;
    // A point carries through the rest of its token into the separator; two of one token meet.
    const std::uint64_t carried = dots - separators - 1;
    // A token ends with a digit or with a point behind one.
    const std::uint64_t complete = (block.digits | (dots & block.digits << 1)) << 1;
    const std::uint64_t bad = (minus & ~(in_front << 1)) | (carried & dots) | (carried & separators & colons) |
                              ((separators & ~complete) ^ 1) | more_than_sixteen(inside & ~separators);
    return Tokens(p, (separators - 1) | ~inside, dots, minus, bad == 0);
  }

  bool plain() const noexcept { return plain_; }  // nothing but numbers of at most 16 bytes

  // The digits of the next token at the right end, other bytes below '1'; and its scale.
  BATCHFEED_AVX2_INLINE __m128i next(const Scales& scales, const double*& scale) noexcept {
    const unsigned begin = end_;
    end_ = static_cast<unsigned>(_tzcnt_u64(ends_));
    ends_ = _blsr_u64(ends_);
    const auto length = static_cast<int>(end_ - begin) - 1;  // -1 behind the end of the block
    const auto from_end = static_cast<int>(_lzcnt_u64(dots_ << ((64 - end_) & 63)));
    const int k = from_end < length ? from_end + 1 : 0;
    const std::uint64_t negative = minus_ >> (begin & 63) >> 1 & 1;
    scale = &scales[negative][static_cast<unsigned>(k)];
    const Shuffle& shuffle = kShuffles.at[static_cast<unsigned>(k)][static_cast<unsigned>(length + 1)];
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p_ + end_ - 16)),
                            _mm_load_si128(reinterpret_cast<const __m128i*>(shuffle.data())));
  }

 private:
  BATCHFEED_AVX2_INLINE Tokens(const char* p, std::uint64_t ends, std::uint64_t dots, std::uint64_t minus,
                               bool plain) noexcept
      : p_(p), ends_(ends), dots_(dots), minus_(minus), plain_(plain) {}

  BATCHFEED_AVX2_INLINE static std::uint64_t more_than_sixteen(std::uint64_t runs) noexcept {
    const std::uint64_t two = runs & runs >> 1, four = two & two >> 2, eight = four & four >> 4;
    return eight & eight >> 8 & runs >> 16;
  }

  const char* p_;
  std::uint64_t ends_, dots_, minus_;
  unsigned end_ = 0;  // of the last one
  bool plain_;
};

}  // namespace batchfeed::ctf::avx2
