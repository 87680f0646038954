// SPDX-License-Identifier: MIT
//
// The tokens of 64 bytes of text: masks say where they end, and their last 4, 8 or
// 16 digits are drawn to the right end of a lane, over the point. What decides the
// time is the port that moves bytes between lanes and makes masks.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>

#include "formats/ctf/bytes.h"

#define BATCHFEED_AVX512_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt"
#define BATCHFEED_AVX512 __attribute__((target(BATCHFEED_AVX512_TARGET)))
#define BATCHFEED_AVX512_LAMBDA __attribute__((target(BATCHFEED_AVX512_TARGET), always_inline))
#define BATCHFEED_AVX512_INLINE __attribute__((target(BATCHFEED_AVX512_TARGET), always_inline)) inline

namespace batchfeed::ctf::avx512 {

using Lanes = std::array<std::uint8_t, 64>;

template <class Value>
constexpr Lanes lanes(Value value) {
  Lanes out{};
  for (unsigned i = 0; i < 64; ++i) out[i] = static_cast<std::uint8_t>(value(i));
  return out;
}
alignas(64) inline constexpr Lanes kIota = lanes([](unsigned i) { return i; });
// How far a byte is from the end of its lane.
alignas(64) inline constexpr Lanes kFromEnd4 = lanes([](unsigned i) { return 4 - i % 4; });
alignas(64) inline constexpr Lanes kFromEnd8 = lanes([](unsigned i) { return 8 - i % 8; });
// Of the eight bytes in front of those, and of the eight in front of these.
alignas(64) inline constexpr std::array<Lanes, 2> kFromEnd8Behind = {lanes([](unsigned i) { return 16 - i % 8; }),
                                                                     lanes([](unsigned i) { return 24 - i % 8; })};
alignas(64) inline constexpr Lanes kFromEnd16 = lanes([](unsigned i) { return 16 - i % 16; });

// The token of each byte. Lanes of 8 and 16 bytes come from two vectors, of which packing puts the lanes of each
// quarter side by side; `token` says which token belongs to the n-th number in the end.
alignas(64) inline constexpr Lanes kTokens4 = lanes([](unsigned i) { return i / 4; });
template <class Token>
constexpr std::array<Lanes, 2> halves8(Token token) {
  return {lanes([=](unsigned i) { return token(i / 16 * 4 + i % 16 / 8); }),
          lanes([=](unsigned i) { return token(i / 16 * 4 + 2 + i % 16 / 8); })};
}
template <class Token>
constexpr std::array<Lanes, 2> halves16(Token token) {
  return {lanes([=](unsigned i) { return token(i / 16 * 2); }),
          lanes([=](unsigned i) { return token(i / 16 * 2 + 1); })};
}
alignas(64) inline constexpr auto kTokens8 = halves8([](unsigned n) { return n; });
alignas(64) inline constexpr auto kTokens16 = halves16([](unsigned n) { return n; });
// Of pairs first the indices, then the values.
alignas(64) inline constexpr auto kPairs8 = halves8([](unsigned n) { return n < 8 ? 2 * n : 2 * (n - 8) + 1; });
// One vector for all, of up to 8 numbers; their order once packed (see few_eight_digits()).
alignas(64) inline constexpr Lanes kFewTokens8 = lanes([](unsigned i) { return i / 8; });
alignas(64) inline constexpr Lanes kFewPairs8 = lanes([](unsigned i) {
  return i < 32 ? i / 8 * 2 : (i - 32) / 8 * 2 + 1;
});
alignas(64) inline constexpr auto kPairs16 = halves16([](unsigned n) { return n < 4 ? 2 * n : 2 * (n - 4) + 1; });

// Where Tokens::fractions has those of the tokens for lanes of 4 and 8 bytes.
alignas(64) inline constexpr Lanes kFractions4 = lanes([](unsigned i) { return i / 4 + 1; });
alignas(64) inline constexpr Lanes kFractions8 = lanes([](unsigned i) { return i / 8 + 1; });
// Of every other token: of values.
alignas(64) inline constexpr Lanes kFractionsOfPairs4 = lanes([](unsigned i) { return i / 4 * 2 + 2; });
alignas(64) inline constexpr Lanes kFractionsOfPairs8 = lanes([](unsigned i) { return i / 8 * 2 + 2; });

BATCHFEED_AVX512_INLINE __m512i all(char c) noexcept { return _mm512_set1_epi8(c); }
BATCHFEED_AVX512_INLINE __m512i load(const Lanes& lanes) noexcept { return _mm512_load_si512(lanes.data()); }
// The lowest n bits, and how many there are up to the highest one.
BATCHFEED_AVX512_INLINE std::uint64_t first(unsigned n) noexcept { return _bzhi_u64(~std::uint64_t{0}, n); }
BATCHFEED_AVX512_INLINE unsigned width(std::uint64_t bits) noexcept {
  return static_cast<unsigned>(std::bit_width(bits));
}

// A mask that stays where it is: compilers like to send it to mask registers and back.
BATCHFEED_AVX512_INLINE std::uint64_t settled(__mmask64 mask) noexcept {
  std::uint64_t bits = mask;
  asm("" : "+r"(bits));
  return bits;
}

// What the bytes of a block are, a bit for each. Its first byte is the blank in front of a token.
struct Block {
  __m512i values;  // of digits, 0 for all other bytes
  std::uint64_t blanks, colons, dots, minus, zeros;
  std::uint64_t others;  // none of these and no digits
};

template <bool kPairs>
BATCHFEED_AVX512_INLINE Block block_of(__m512i x) noexcept {
  const __m512i v = _mm512_sub_epi8(x, all('0'));
  const __mmask64 digits = _mm512_cmple_epu8_mask(v, all(9));
  const std::uint64_t blanks = settled(_mm512_cmpeq_epi8_mask(x, all(' ')));
  const std::uint64_t colons = kPairs ? settled(_mm512_cmpeq_epi8_mask(x, all(':'))) : 0;
  const std::uint64_t dots = settled(_mm512_cmpeq_epi8_mask(x, all('.')));
  const std::uint64_t minus = settled(_mm512_cmpeq_epi8_mask(x, all('-')));
  return {.values = _mm512_maskz_mov_epi8(digits, v),
          .blanks = blanks,
          .colons = colons,
          .dots = dots,
          .minus = minus,
          .zeros = settled(_mm512_cmpeq_epi8_mask(x, all('0'))),
          .others = ~(settled(digits) | blanks | colons | dots | minus)};
}

// A block with other bytes in it: tabs are blanks, and the first of the rest ends the block. Returns where the
// kernel ends behind the block; nullptr if it does not.
BATCHFEED_AVX512_INLINE const char* cut(Block& block, __m512i x, const char* p) noexcept {
  const std::uint64_t tabs = _mm512_cmpeq_epi8_mask(x, all('\t'));
  block.blanks |= tabs;
  if (block.others == tabs) return nullptr;
  const auto stop = static_cast<unsigned>(std::countr_zero(block.others & ~tabs));
  block.blanks &= first(stop);
  if (!ends_sample(p[stop])) return p + width(block.blanks) - 1;
  // A token that the end of the sample ends; after a blank there is none.
  if ((block.blanks >> (stop - 1) & 1) == 0) block.blanks |= std::uint64_t{1} << stop;
  return p + stop;
}

// A block, behind a blank, without what means nothing: blanks in front of blanks, and a plus in front of a number.
struct Apart {
  Block block;
  const char* next;
  bool ends;   // the sample
  bool plain;  // there was something like that, and every plus is in front of a number
};
template <bool kPairs>
BATCHFEED_AVX512_INLINE Apart apart_block(const char* p) noexcept {
  const __m512i x = _mm512_loadu_si512(p);
  Block block = block_of<kPairs>(x);
  const std::uint64_t plus = settled(_mm512_cmpeq_epi8_mask(x, all('+')));
  // Digits and points.
  const std::uint64_t numeric = ~(block.others | block.blanks | block.colons | block.minus);
  block.others &= ~plus;
  const char* const end = block.others == 0 ? nullptr : cut(block, x, p);
  const unsigned last = width(block.blanks) - 1;
  const std::uint64_t inside = first(last + 1), signs = plus & inside;
  const std::uint64_t in_front = kPairs ? block.colons : block.blanks;
  const std::uint64_t spare = (block.blanks & block.blanks >> 1) | signs, kept = ~spare;
  return {.block = {.values = _mm512_maskz_compress_epi8(kept, block.values),
                    .blanks = _pext_u64(block.blanks, kept),
                    .colons = _pext_u64(block.colons & inside, kept),
                    .dots = _pext_u64(block.dots & inside, kept),
                    .minus = _pext_u64(block.minus & inside, kept),
                    .zeros = _pext_u64(block.zeros & inside, kept),
                    .others = 0},
          .next = end == nullptr ? p + last : end,
          .ends = end != nullptr,
          .plain = spare != 0 && (signs & ~(in_front << 1 & numeric >> 1)) == 0};
}

// Tokens between separators, the first of which is byte 0 of the block.
struct Tokens {
  __m512i values;      // of the block
  __m512i separators;  // a byte for each: where it is; token i lies between i and i + 1
  __m512i fractions;   // byte i + 1: digits behind the point of token i, 255 if it has none
  std::uint64_t negative;
  bool points;          // some have one
  std::uint64_t zeros;  // a 0 in front of a point, which counts for nothing
  std::uint64_t runs;   // digits side by side, not counting points, signs and such zeros
  bool plain;           // nothing but numbers
};

// The last separator is the last byte looked at. `in_front`: those behind which a number may have a minus; `whole`:
// those that end numbers without a point.
BATCHFEED_AVX512_INLINE Tokens tokens_of(const Block& block, std::uint64_t separators, std::uint64_t in_front,
                                         std::uint64_t whole) noexcept {
  const std::uint64_t inside = first(width(separators));
  const std::uint64_t dots = block.dots & inside, minus = block.minus & inside;
  const std::uint64_t zeros = block.zeros & (in_front | minus) << 1 & dots >> 1 & ~(separators >> 2);
  const std::uint64_t kept = ~(dots | minus | zeros);
  const std::uint64_t kept_separators = _pext_u64(separators, kept);
  // A point carries through the rest of its token into the separator; two of one token meet.
  const std::uint64_t carried = dots - separators - 1;
  const std::uint64_t pointed = carried & separators;
  const std::uint64_t bad =
      (minus & ~(in_front << 1)) | (kept_separators & kept_separators << 1) | (carried & dots) | (pointed & whole);
  const __m512i iota = load(kIota);
  const __m512i ends = _mm512_maskz_compress_epi8(separators, iota);
  const __m512i before = _mm512_maskz_compress_epi8(dots | (separators & ~pointed), iota);
  return {.values = block.values,
          .separators = ends,
          .fractions = _mm512_add_epi8(_mm512_sub_epi8(ends, before), all(-1)),
          .negative = _pext_u64(minus >> 1, in_front),
          .points = dots != 0,
          .zeros = zeros,
          .runs = _pext_u64(inside ^ separators, kept),
          .plain = bad == 0};
}

// The starts of runs of more than 4, 7, 8, 14, 15 and 19.
BATCHFEED_AVX512_INLINE std::uint64_t four(std::uint64_t runs) noexcept {
  const std::uint64_t two = runs & runs >> 1;
  return two & two >> 2;
}
BATCHFEED_AVX512_INLINE bool above_four(std::uint64_t runs) noexcept { return (four(runs) & runs >> 4) != 0; }
BATCHFEED_AVX512_INLINE bool above_seven(std::uint64_t runs) noexcept { return (four(runs) & four(runs) >> 4) != 0; }
BATCHFEED_AVX512_INLINE bool above_eight(std::uint64_t runs) noexcept {
  return (four(runs) & four(runs) >> 4 & runs >> 8) != 0;
}
BATCHFEED_AVX512_INLINE bool above_fourteen(std::uint64_t runs) noexcept {
  const std::uint64_t eight = four(runs) & four(runs) >> 4;
  return (eight & eight >> 7) != 0;
}
BATCHFEED_AVX512_INLINE bool above_fifteen(std::uint64_t runs) noexcept {
  const std::uint64_t eight = four(runs) & four(runs) >> 4;
  return (eight & eight >> 8) != 0;
}
BATCHFEED_AVX512_INLINE bool above_nineteen(std::uint64_t runs) noexcept {
  const std::uint64_t eight = four(runs) & four(runs) >> 4;
  return (eight & eight >> 8 & four(runs) >> 16) != 0;
}

// Goes on with the token that is 8 * words tokens away.
template <int words, bool kPairs = false>
BATCHFEED_AVX512_INLINE void pass(Tokens& t) noexcept {
  t.separators = _mm512_alignr_epi64(_mm512_setzero_si512(), t.separators, words);
  t.fractions = _mm512_alignr_epi64(_mm512_setzero_si512(), t.fractions, words);
  t.negative >>= (kPairs ? 4 : 8) * words;
}

// Where in the block the bytes of each lane come from: the digits of a token, at the right end; in front
// of them a separator, whose value is 0.
BATCHFEED_AVX512_INLINE __m512i moves(const Tokens& t, const Lanes& token, const Lanes& from_end) noexcept {
  const __m512i which = load(token), next = _mm512_add_epi8(which, all(1)), back = load(from_end);
  const __m512i begin = _mm512_permutexvar_epi8(which, t.separators);
  __m512i from = _mm512_sub_epi8(_mm512_permutexvar_epi8(next, t.separators), back);
  if (t.points) [[likely]] {
    const __m512i fraction = _mm512_permutexvar_epi8(next, t.fractions);
    from = _mm512_mask_add_epi8(from, _mm512_cmpgt_epu8_mask(back, fraction), from, all(-1));
  }
  // Signed: in front of the block is no digit either.
  return _mm512_max_epi8(from, begin);
}
BATCHFEED_AVX512_INLINE __m512i spread(const Tokens& t, const Lanes& token, const Lanes& from_end) noexcept {
  return _mm512_permutexvar_epi8(moves(t, token, from_end), t.values);
}

}  // namespace batchfeed::ctf::avx512
