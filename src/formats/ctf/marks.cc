// SPDX-License-Identifier: MIT
#include "formats/ctf/marks.h"

#include <algorithm>
#include <bit>

#include "base/cpu.h"
#include "formats/ctf/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace batchfeed::ctf {
namespace {

constexpr std::uint64_t kHighest = std::uint64_t{1} << 63;

// Lists the places of marks. The first six are always written, as no CPU could predict a branch on how many there are;
// those too many are overwritten.
inline std::uint16_t* write(std::uint64_t marks, unsigned count, std::uint32_t at, std::uint16_t* out) noexcept {
  std::uint16_t* const end = out + count;
  const auto place = [at](std::uint64_t m) {
    return static_cast<std::uint16_t>(at + static_cast<unsigned>(std::countr_zero(m)));
  };
  for (unsigned i = 0; i < 6; ++i, marks &= marks - 1) *out++ = place(marks | kHighest);
  for (; out < end; marks &= marks - 1) *out++ = place(marks);
  return end;
}

std::uint64_t marks_plain(const char* p) noexcept {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  const auto load = [](const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  for (unsigned i = 0; i < 64; i += 16) {
    const __m128i v = load(p + i);
    const __m128i comments = _mm_cmpeq_epi8(load(p + i + 1), _mm_set1_epi8('#'));
    const __m128i pipes = _mm_andnot_si128(comments, _mm_cmpeq_epi8(v, _mm_set1_epi8('|')));
    const int hits = _mm_movemask_epi8(_mm_or_si128(pipes, _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))));
    bits |= static_cast<std::uint64_t>(static_cast<unsigned>(hits)) << i;
  }
#else
  bits = (bytes_equal(p, '|') & ~bytes_equal(p + 1, '#')) | bytes_equal(p, '\n');
#endif
  return bits;
}

std::size_t list_plain(const char* p, std::size_t count, std::uint16_t* out) noexcept {
  const std::uint16_t* const first = out;
  for (std::uint32_t at = 0; at < count * 64; at += 64) {
    const std::uint64_t marks = marks_plain(p + at);
    out = write(marks, ones(marks), at, out);
  }
  return static_cast<std::size_t>(out - first);
}

#if defined(__x86_64__)
#define BATCHFEED_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define BATCHFEED_AVX512_TARGET "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,popcnt"
#define BATCHFEED_AVX512 __attribute__((target(BATCHFEED_AVX512_TARGET)))

BATCHFEED_AVX2 inline __m256i load_avx2(const char* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

BATCHFEED_AVX2 inline std::uint32_t marks_avx2(const char* p) noexcept {
  const __m256i v = load_avx2(p);
  const __m256i comments = _mm256_cmpeq_epi8(load_avx2(p + 1), _mm256_set1_epi8('#'));
  const __m256i pipes = _mm256_andnot_si256(comments, _mm256_cmpeq_epi8(v, _mm256_set1_epi8('|')));
  const __m256i marks = _mm256_or_si256(pipes, _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n')));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(marks));
}

BATCHFEED_AVX2 std::size_t list_avx2(const char* p, std::size_t count, std::uint16_t* out) noexcept {
  const std::uint16_t* const first = out;
  for (std::uint32_t at = 0; at < count * 64; at += 64) {
    const std::uint64_t marks = marks_avx2(p + at) | std::uint64_t{marks_avx2(p + at + 32)} << 32;
    out = write(marks, static_cast<unsigned>(std::popcount(marks)), at, out);
  }
  return static_cast<std::size_t>(out - first);
}

BATCHFEED_AVX512 std::size_t list_avx512(const char* p, std::size_t count, std::uint16_t* out) noexcept {
  const std::uint16_t* const first = out;
  const __m512i pipe = _mm512_set1_epi8('|'), newline = _mm512_set1_epi8('\n'), hash = _mm512_set1_epi8('#');
  alignas(64) static constexpr std::array<std::uint8_t, 64> kIota = [] {
    std::array<std::uint8_t, 64> iota{};
    for (std::uint8_t i = 0; i < 64; ++i) iota[i] = i;
    return iota;
  }();
  const __m512i iota = _mm512_load_si512(kIota.data());
  const __m512i kept = _mm512_set1_epi16(static_cast<std::int16_t>(kNewlineMark | 63));
  for (std::uint32_t at = 0; at < count * 64; at += 64) {
    const __m512i v = _mm512_loadu_si512(p + at);
    const __mmask64 comments = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p + at + 1), hash);
    const __mmask64 newlines = _mm512_cmpeq_epi8_mask(v, newline);
    const __mmask64 marks = (_mm512_cmpeq_epi8_mask(v, pipe) & ~comments) | newlines;
    const auto n = static_cast<unsigned>(std::popcount(std::uint64_t{marks}));
    // The sign of a byte, and of the word it becomes, says that it is a newline.
    const __m512i places =
        _mm512_maskz_compress_epi8(marks, _mm512_mask_sub_epi8(iota, newlines, iota, _mm512_set1_epi8(-128)));
    const __m512i begin = _mm512_set1_epi16(static_cast<std::int16_t>(at));
    const auto store = [&](std::uint16_t * to, __m256i half) __attribute__((target(BATCHFEED_AVX512_TARGET))) {
      const __m512i words = _mm512_and_si512(_mm512_cvtepi8_epi16(half), kept);
      _mm512_storeu_si512(to, _mm512_or_si512(words, begin));
    };
    store(out, _mm512_castsi512_si256(places));
    if (n > 32) [[unlikely]]
      store(out + 32, _mm512_extracti64x4_epi64(places, 1));
    out += n;
  }
  return static_cast<std::size_t>(out - first);
}
#endif

}  // namespace

ListMarks list_marks([[maybe_unused]] std::string_view tier) noexcept {
#if defined(__x86_64__)
  const std::string_view best = cpu_tier(tier);
  if (best == "avx512") return list_avx512;
  if (best == "avx2") return list_avx2;
#endif
  return list_plain;
}

void MarkList::fill() noexcept {
  at_ = alike_end_ = 0;
  do {
    if (scanned_ >= end_) {
      from_ = end_ - 1;
      marks_[0] = 0;
      note_[0] = OneHot{}.note;
      last_ = 1;
      return;
    }
    from_ = scanned_;
    const auto left = static_cast<std::size_t>(end_ - from_);
    const std::size_t count = std::min((left + kPiece - 1) / kPiece, kPieces);
    last_ = list_(from_, count, marks_.data());
    scanned_ = from_ + count * kPiece;
    // Drops marks behind the end of the block.
    while (last_ != 0 && place(last_ - 1) >= end_) --last_;
  } while (last_ == 0);  // part of a long line
  // Keeps the marks of whole lines, if there are any; the rest comes with the next ones.
  for (std::size_t n = last_; n > 0; --n) {
    const char* const mark = place(n - 1);
    if (*mark != '\n') continue;
    last_ = n;
    scanned_ = mark + 1;
    break;
  }
  find_one_hots();
}

void MarkList::find_one_hots() noexcept {
  if (find_ != nullptr && rest_ == 0) {
    if (find_(from_, marks_.data(), last_, names_, {index_.data(), note_.data()}) * 4 < last_) rest_ = kRest;
  } else {
    std::fill_n(note_.begin(), last_, OneHot{}.note);
    rest_ -= rest_ == 0 ? 0 : 1;
  }
}

MarkList::Alike MarkList::alike(std::size_t width) noexcept {
  if (alike_width_ != width || at_ + width > alike_end_) {
    constexpr std::size_t kStep = 32;
    constexpr unsigned kKind = 0xFF00;
    const auto differ = [&](std::size_t from, std::size_t count) {
      std::uint16_t all = 0;
      for (std::size_t i = from; i < from + count; ++i) all |= static_cast<std::uint16_t>(note_[i] ^ note_[i - width]);
      return all;
    };
    std::uint16_t differ_in = 0;
    std::size_t n = at_ + width;
    for (std::uint16_t now; n + kStep <= last_ && ((now = differ(n, kStep)) & kKind) == 0; n += kStep) differ_in |= now;
    for (std::uint16_t now; n < last_ && ((now = differ(n, 1)) & kKind) == 0; ++n) differ_in |= now;
    alike_width_ = width;
    alike_end_ = n;
    alike_values_ = differ_in == 0;
  }
  return {.marks = alike_end_ - at_, .values = alike_values_};
}

}  // namespace batchfeed::ctf
