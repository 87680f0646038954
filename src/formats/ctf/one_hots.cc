// SPDX-License-Identifier: MIT
//
// Four samples side by side, 16 bytes of each from its pipe on. What stands where in them is
// found for all four at once, in masks of 64 bits with 16 for each.
#include "formats/ctf/one_hots.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/cpu.h"
#include "text/number.h"

#if defined(__x86_64__)
#include "formats/ctf/avx512_tokens.h"
#endif

namespace batchfeed::ctf {

OneHotNames::OneHotNames(const Schema& schema) {
  for (std::size_t i = 0; i < std::min<std::size_t>(schema.size(), 64) && count < kMost; ++i) {
    const std::string& alias = schema.alias(i);
    if (schema.streams()[i].storage != Storage::sparse || alias.size() > kLongest) continue;
    Name& name = names[count++];
    longer = longer || alias.size() > kShort;
    name.text[0] = '|';
    std::copy(alias.begin(), alias.end(), name.text.begin() + 1);
    name.text[alias.size() + 1] = ' ';
    name.length = static_cast<unsigned>(alias.size() + 2);
    name.stream = static_cast<std::int32_t>(i);
  }
}

namespace {

constexpr unsigned kLastColon = 12;  // of 16 bytes: three more behind it are looked at

// A name as the first eight bytes of a sample, and how many digits may follow.
struct Head {
  std::uint64_t text = 1, mask = 0;       // matches nothing
  std::uint64_t rest = 0, rest_mask = 0;  // the eight bytes behind
  unsigned length = 0, digits = 0;
  int note = 0;
};

// The note of what is found at a mark; the digits of its index go to `eight`, as spell_eight() takes them.
template <bool kLonger>
[[gnu::always_inline]] inline std::int16_t read_one(const char* mark, const Head& name, std::uint64_t& eight) noexcept {
  constexpr std::int16_t kNothing = OneHot{}.note;
  const text::Digits digits = text::leading_digits(mark + name.length);
  if (digits.count - 1 >= name.digits) return kNothing;
  const char* const colon = mark + name.length + digits.count;
  const auto four = load<std::uint32_t>(colon);
  const std::uint32_t value = (four >> 8 & 0xFF) - '0';
  if ((four & 0xFF) != ':' || value > 9) return kNothing;
  const bool blank = is_blank(static_cast<char>(four >> 16));
  const char end = static_cast<char>(four >> (blank ? 24 : 16));
  if (end != '|' && end != '\n') [[unlikely]] {
    const char* const p = colon + (blank ? 3 : 2);
    if (end != '\r' || (!kLonger && p == mark + 15) || p[1] != '\n') return kNothing;
  }
  eight = digits.value << (64 - 8 * digits.count);
  return static_cast<std::int16_t>(name.note + static_cast<int>(value));
}

// Reads mark by mark; where no sample is found, the digits are 0.
template <std::size_t kNames, bool kLonger>
[[gnu::always_inline]] inline std::size_t read_all(const char* from, const std::uint16_t* marks, std::size_t count,
                                                   const OneHotNames& names, std::uint64_t* eight,
                                                   std::int16_t* note) noexcept {
  std::array<Head, OneHotNames::kMost> heads;
  for (std::size_t i = 0; i < names.count; ++i) {
    const OneHotNames::Name& name = names.names[i];
    const unsigned first = std::min(name.length, 8U);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * first);
    const std::uint64_t rest_mask = name.length > 8 ? ~std::uint64_t{0} >> (128 - 8 * name.length) : 0;
    heads[i] = {.text = load<std::uint64_t>(name.text.data()) & mask,
                .mask = mask,
                .rest = load<std::uint64_t>(name.text.data() + 8) & rest_mask,
                .rest_mask = rest_mask,
                .length = name.length,
                .digits = kLonger ? 7U : std::min(7U, kLastColon - name.length),
                .note = name.stream * 256};
  }
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const char* const mark = from + mark_distance(marks[k]);
    const auto head = load<std::uint64_t>(mark);
    eight[k] = 0;
    if ((head & 0xFF) == '\n') {
      note[k] = OneHot::kNewline * 256;
      continue;
    }
    note[k] = OneHot{}.note;
    for (const Head& name : std::span<const Head>(heads.data(), kNames)) {
      if ((head & name.mask) != name.text) continue;
      if (kLonger && (load<std::uint64_t>(mark + 8) & name.rest_mask) != name.rest) continue;
      note[k] = read_one<kLonger>(mark, name, eight[k]);
      found += note[k] >= 0 ? 1 : 0;
      break;
    }
  }
  return found;
}

// Writes the numbers that `count` times eight digits spell, and up to three more.
#if defined(__SSE2__)
inline void spell_all(const std::uint64_t* eight, std::size_t count, std::int32_t* index) noexcept {
  const auto fours = [eight](std::size_t k) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(eight + k));
    const __m128i tens = _mm_mullo_epi16(_mm_and_si128(v, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10));
    return _mm_madd_epi16(_mm_add_epi16(tens, _mm_srli_epi16(v, 8)), _mm_set1_epi32(0x0001'0064));
  };
  for (std::size_t k = 0; k < count; k += 4) {
    const __m128i all = _mm_madd_epi16(_mm_packs_epi32(fours(k), fours(k + 2)), _mm_set1_epi32(0x0001'2710));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(index + k), all);
  }
}
#else
inline void spell_all(const std::uint64_t* eight, std::size_t count, std::int32_t* index) noexcept {
  for (std::size_t k = 0; k < count; ++k) index[k] = static_cast<std::int32_t>(text::spell_eight(eight[k]));
}
#endif

[[gnu::always_inline]] inline std::size_t find_by_one(const char* from, const std::uint16_t* marks, std::size_t count,
                                                      const OneHotNames& names, const OneHots& out) noexcept {
  alignas(16) std::array<std::uint64_t, kMostMarks + 4> eight;
  constexpr std::size_t kMost = OneHotNames::kMost, kFew = kMost / 2;  // loops of a length not constant take 10 % more
  std::size_t found = 0;
  if (names.longer)
    found = read_all<kMost, true>(from, marks, count, names, eight.data(), out.note);
  else if (names.count > kFew)
    found = read_all<kMost, false>(from, marks, count, names, eight.data(), out.note);
  else
    found = read_all<kFew, false>(from, marks, count, names, eight.data(), out.note);
  spell_all(eight.data(), count, out.index);
  return found;
}

std::size_t find_plain(const char* from, const std::uint16_t* marks, std::size_t count, const OneHotNames& names,
                       const OneHots& out) noexcept {
  return find_by_one(from, marks, count, names, out);
}

#if defined(__x86_64__)

// The same with the bit instructions of such CPUs.
__attribute__((target("avx2,bmi,bmi2"))) std::size_t find_avx2(const char* from, const std::uint16_t* marks,
                                                               std::size_t count, const OneHotNames& names,
                                                               const OneHots& out) noexcept {
  return find_by_one(from, marks, count, names, out);
}

constexpr std::uint64_t kEach = 0x0001000100010001u;  // times a mask of 16 bits: that for each sample

// For each sample whose first bytes, those in `bytes`, are all in `equal`: the bit behind these.
inline std::uint64_t behind_all(std::uint64_t equal, std::uint64_t bytes, std::uint64_t behind) noexcept {
  return ((equal & bytes) + kEach) & behind;
}

// Bytes of the samples, a bit for each.
struct Bytes {
  std::uint64_t digits, colons, blanks, ends;
};

// Where the index ends, of those that begin at `begin`.
inline std::uint64_t behind_index(const Bytes& is, std::uint64_t begin) noexcept {
  const std::uint64_t digits = is.digits & kEach * 0x7FFF;  // no carry from one sample to the next
  return (digits + begin) & ~digits;
}

// Of these ends of indices, those with all that a sample must have: at most seven digits, a colon, a digit and an end.
inline std::uint64_t good(const Bytes& is, std::uint64_t begin, std::uint64_t end) noexcept {
  const std::uint64_t up_to_seven = (begin << 8) - (begin << 1);
  return end & up_to_seven & kEach * 0x1FFF & is.colons & is.digits >> 1 &
         (is.ends >> 2 | (is.blanks >> 2 & is.ends >> 3));
}

// 1 for each sample where any bit but the highest is set.
inline std::uint64_t any(std::uint64_t bits) noexcept { return (bits + kEach * 0x7FFF) >> 15 & kEach; }

using avx512::Lanes;
using avx512::lanes;

// From where the index ends: its last eight digits, and the value.
alignas(64) constexpr Lanes kFromColon = lanes([](unsigned i) {
  return i % 16 < 8 ? i % 16 - 8 : i % 16 == 10 ? 1 : 128;
});
alignas(64) constexpr Lanes kSample = lanes([](unsigned i) { return i / 16 * 4; });
alignas(64) constexpr Lanes kTens = lanes([](unsigned i) { return i % 2 == 0 && i % 16 < 8 ? 10 : 1; });

// The samples at pipes, in fours; behind the last are three places more that may be looked at.
template <bool kLonger>
BATCHFEED_AVX512_INLINE std::size_t find_at_pipes(const char* from, const std::uint16_t* pipes, std::size_t count,
                                                  const OneHotNames& names, const OneHots& out) noexcept {
  const auto load = [](const char* p)
                        BATCHFEED_AVX512_LAMBDA { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  const __m512i from_colon = _mm512_load_si512(kFromColon.data()), sample = _mm512_load_si512(kSample.data());
  const __m512i tens = _mm512_load_si512(kTens.data());
  // Words of a sample: four of two digits each, then the value; doublewords: two of four digits, then the value.
  const __m512i hundreds = _mm512_set1_epi64(0x0001'0064'0001'0064);
  const __m512i thousands = _mm512_set1_epi64(0x0000'0001'0001'2710);
  const __m256i apart = _mm256_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13);  // the indices, then the values
  struct Name {
    __m512i text;
    std::uint64_t bytes, behind, stream;
  };
  std::array<Name, OneHotNames::kMost> wanted;
  for (std::size_t i = 0; i < names.count; ++i) {
    const OneHotNames::Name& name = names.names[i];
    const __m128i text = _mm_load_si128(reinterpret_cast<const __m128i*>(name.text.data()));
    wanted[i] = {.text = _mm512_broadcast_i32x4(text),
                 .bytes = kEach * ((std::uint64_t{1} << name.length) - 1),
                 .behind = kEach << name.length,
                 .stream = static_cast<std::uint64_t>(name.stream)};
  }
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; k += 4) {
    __m512i v = _mm512_castsi128_si512(load(from + pipes[k]));
    v = _mm512_inserti32x4(v, load(from + pipes[k + 1]), 1);
    v = _mm512_inserti32x4(v, load(from + pipes[k + 2]), 2);
    v = _mm512_inserti32x4(v, load(from + pipes[k + 3]), 3);
    std::uint64_t begin = 0, kinds = 0;
    for (std::size_t i = 0; i < names.count; ++i) {
      const Name& name = wanted[i];
      const std::uint64_t here = behind_all(_mm512_cmpeq_epi8_mask(v, name.text), name.bytes, name.behind);
      begin |= here;
      kinds += any(here >> 1) * name.stream;  // two bytes at least are in front of it
    }
    if constexpr (kLonger) {
      // Once more from the blank behind the name on.
      const auto at = [&](unsigned i) BATCHFEED_AVX512_LAMBDA {
        const std::uint64_t behind = begin >> (16 * i) & 0xFFFF;
        return load(from + pipes[k + i] + (behind == 0 ? 0 : std::countr_zero(behind) - 1));
      };
      v = _mm512_castsi128_si512(at(0));
      v = _mm512_inserti32x4(v, at(1), 1);
      v = _mm512_inserti32x4(v, at(2), 2);
      v = _mm512_inserti32x4(v, at(3), 3);
      begin = any(begin >> 1) << 1;
    }
    const auto equal = [v](char c) BATCHFEED_AVX512_LAMBDA {
      return std::uint64_t{_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c))};
    };
    const __m512i numbers = _mm512_sub_epi8(v, _mm512_set1_epi8('0'));
    const std::uint64_t newlines = equal('\n');
    const std::uint64_t returns = equal('\r') & newlines >> 1 & kEach * 0x7FFF;  // of the sample's own newline
    const Bytes is{.digits = _mm512_cmplt_epu8_mask(numbers, _mm512_set1_epi8(10)),
                   .colons = equal(':'),
                   .blanks = equal(' ') | equal('\t'),
                   .ends = equal('|') | newlines | returns};
    const std::uint64_t end = behind_index(is, begin);
    const std::uint64_t fine = any(good(is, begin, end));
    kinds |= ~((fine << 16) - fine);  // -1 where it is not
    // The place of a bit is the exponent of its value.
    const __m128i bits = _mm_cvtepu16_epi32(_mm_cvtsi64_si128(static_cast<long long>(end)));
    const __m128i places =
        _mm_sub_epi32(_mm_srli_epi32(_mm_castps_si128(_mm_cvtepi32_ps(bits)), 23), _mm_set1_epi32(127));
    const __m512i place = _mm512_permutexvar_epi8(sample, _mm512_castsi128_si512(places));
    // Digits go to the right end of eight bytes, with nothing in front of them.
    const __m512i alone = _mm512_maskz_mov_epi8((end - begin) | (end << 1 & ~kEach), numbers);
    const __m512i digits = _mm512_shuffle_epi8(alone, _mm512_add_epi8(place, from_colon));
    const __m512i twos = _mm512_maddubs_epi16(digits, tens);
    const __m512i fours = _mm512_madd_epi16(twos, hundreds);
    const __m512i all = _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), thousands);
    const __m256i columns = _mm512_castsi512_si256(_mm512_permutexvar_epi32(_mm512_castsi256_si512(apart), all));
    const __m128i values = _mm_cvtepi32_epi16(_mm256_extracti128_si256(columns, 1));
    const __m128i notes = _mm_or_si128(values, _mm_slli_epi16(_mm_cvtsi64_si128(static_cast<long long>(kinds)), 8));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.index + k), _mm256_castsi256_si128(columns));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out.note + k), notes);
    found += static_cast<std::size_t>(std::popcount(fine));
  }
  return found;
}

// Newlines, a third of the marks of short lines, are taken out before and put back behind.
BATCHFEED_AVX512 std::size_t find_avx512(const char* from, const std::uint16_t* marks, std::size_t count,
                                         const OneHotNames& names, const OneHots& out) noexcept {
  constexpr std::size_t kLanes = 32;
  alignas(64) std::array<std::uint16_t, kMostMarks + kLanes> pipes;
  alignas(64) std::array<std::int32_t, kMostMarks + kLanes> index;
  alignas(64) std::array<std::int16_t, kMostMarks + kLanes> note;
  const auto pipes_of = [&](std::size_t k) BATCHFEED_AVX512_LAMBDA {
    const __mmask32 there = k + kLanes <= count ? ~__mmask32{0} : (__mmask32{1} << (count - k)) - 1;
    return static_cast<__mmask32>(there & ~_mm512_movepi16_mask(_mm512_loadu_si512(marks + k)));
  };
  std::size_t n = 0;
  for (std::size_t k = 0; k < count; k += kLanes) {
    const __mmask32 are = pipes_of(k);
    _mm512_storeu_si512(pipes.data() + n, _mm512_maskz_compress_epi16(are, _mm512_loadu_si512(marks + k)));
    n += static_cast<std::size_t>(std::popcount(are));
  }
  std::fill_n(pipes.begin() + static_cast<std::ptrdiff_t>(n), 3, std::uint16_t{0});
  const OneHots some{index.data(), note.data()};
  const std::size_t found = n == 0         ? 0
                            : names.longer ? find_at_pipes<true>(from, pipes.data(), n, names, some)
                                           : find_at_pipes<false>(from, pipes.data(), n, names, some);
  const __m512i newline = _mm512_set1_epi16(OneHot::kNewline * 256);
  n = 0;
  for (std::size_t k = 0; k < count; k += kLanes) {
    const __mmask32 are = pipes_of(k);
    const auto first = static_cast<__mmask16>(are), second = static_cast<__mmask16>(are >> 16);
    const auto half = static_cast<std::size_t>(std::popcount(first));
    _mm512_storeu_si512(out.note + k, _mm512_mask_expand_epi16(newline, are, _mm512_loadu_si512(note.data() + n)));
    _mm512_storeu_si512(out.index + k, _mm512_maskz_expand_epi32(first, _mm512_loadu_si512(index.data() + n)));
    _mm512_storeu_si512(out.index + k + 16,
                        _mm512_maskz_expand_epi32(second, _mm512_loadu_si512(index.data() + n + half)));
    n += static_cast<std::size_t>(std::popcount(are));
  }
  return found;
}

#endif

}  // namespace

FindOneHots find_one_hots([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") return find_avx512;
  if (best == "avx2") return find_avx2;
#endif
  return find_plain;
}

}  // namespace batchfeed::ctf
