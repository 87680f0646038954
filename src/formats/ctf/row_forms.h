// SPDX-License-Identifier: MIT
//
// Short lines differ in their digits, and in how many digits a number has: most lines have one of a few forms. One
// comparison tells that some samples of a line, of whatever streams, have a known form, and all their numbers are made
// at once. What lies between them and is not read, such as comments, is cut out before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/ctf/prefix.h"

namespace batchfeed::ctf {

// What is read at once: bytes, numbers, samples; what is cut out of it; and bytes of a name with the pipe in front of
// it and the blank behind it.
inline constexpr std::size_t kRowBytes = 64, kRowNumbers = 16, kRowSamples = 8, kRowGaps = 8, kLongestName = 16;

template <class T>
struct RowForm {
  // Where its numbers are: of a sparse one the indices, and behind them as many values.
  struct Sample {
    std::uint8_t first = 0, count = 0;
  };
  std::uint64_t others = 0;  // bytes that are no digits, the mark behind the samples too; no two forms have the same
  std::uint64_t fixed = 0;   // bytes that belong to no number: they are the same in all samples of the form
  alignas(64) std::array<char, kRowBytes> text{};          // these bytes, 0 for the others
  alignas(64) std::array<std::uint8_t, kRowBytes> keep{};  // 0xFF for these, 0 for the others
  // Where the digits of each number come from, eight for each, the last ones at the end; for AVX-512 places in the
  // line, for AVX2 behind `begins`, with 0x80 where there is none. Numbers stand as packing will put them in order: of
  // four the first two in one vector, the others in the other.
  alignas(64) std::array<std::array<std::uint8_t, 64>, 2> digits{};
  std::array<std::uint64_t, 2> present{};                      // bytes of `digits` that are digits
  std::array<std::uint8_t, kRowNumbers> begins{};              // of the numbers
  alignas(64) std::array<T, kRowNumbers> scales{};             // what digits are divided by; negative behind a sign
  alignas(64) std::array<std::uint32_t, kRowNumbers> below{};  // what digits have to be below
  std::array<Sample, kRowSamples> samples{};                   // in the order of the line
  std::size_t numbers = 0;
};

template <class T>
struct RowNumbers {
  alignas(64) std::array<T, kRowNumbers + 4> values{};  // four more may be copied than there are
  alignas(64) std::array<std::int32_t, kRowNumbers + 4> indices{};
  std::size_t bytes = 0;  // of their text and the gaps, up to the pipe behind them or with the newline
};

template <class T>
class RowForms;

// Reads the samples from p on if they are of a form that is known; else nullptr. `end` is the bit of the mark behind
// them, or 0 to look for it. Reads kRowBytes bytes, wherever the line ends, and as many behind each gap.
template <class T>
using RowKernel = const RowForm<T>* (*)(const char* p, std::uint64_t end, const RowForms<T>& forms,
                                        RowNumbers<T>& out) noexcept;

// The forms of samples of the same streams in the same order, one behind the other in a line. Not thread-safe.
template <class T>
class RowForms {
 public:
  struct Part {
    std::size_t name = 0;  // bytes, with the pipe
    std::uint64_t dim = 0;
    bool sparse = false;
  };
  // From the pipe behind so many samples up to the next mark.
  struct Gap {
    std::size_t samples = 0;
    Prefix<kLongestName> name;  // what it must begin with
  };

  // The best kernel of the tier; the scalar one knows no forms.
  explicit RowForms(std::string_view tier) noexcept;

  // Lines to come have these samples, at most kRowSamples, up to their ends or to another pipe, and at most kRowGaps
  // gaps. Forgets all forms.
  void start(std::span<const Part> parts, std::span<const Gap> gaps, bool to_end);

  // Whether it pays to look at the next line.
  bool use() noexcept {
    if (asleep_ == 0) return kernel_ != nullptr;
    --asleep_;
    return false;
  }
  // All numbers of samples of a known form, else nullptr. `bytes`: with the mark behind them, at most kRowBytes, if
  // that is known and there are no gaps.
  const RowForm<T>* read(const char* p, RowNumbers<T>& out, std::size_t bytes = 0) noexcept {
    const RowForm<T>* const form = kernel_(p, bytes == 0 ? 0 : std::uint64_t{1} << (bytes - 1), *this, out);
    if (form != nullptr && credit_ < kMostCredit) ++credit_;
    return form;
  }
  // Learns the form of the samples at p, if they have one: those that start() was told of and read() could not read,
  // without the gaps and with the mark behind them.
  void learn(const char* p, std::size_t bytes);

  const RowForm<T>* find(std::uint64_t others) const noexcept {
    if (others == 0) return nullptr;  // the last line of a file, without a newline
    const std::size_t at = place_of(others);
    if (others_[at] == others) return &forms_[form_[at]];
    return others_[at + 1] == others ? &forms_[form_[at + 1]] : nullptr;
  }

  // The mark that the samples end at is the first newline; else it is the pipe behind so many.
  bool to_end() const noexcept { return to_end_; }
  std::size_t samples() const noexcept { return samples_; }
  std::span<const Gap> gaps() const noexcept { return std::span(gap_).first(gaps_); }

 private:
  static constexpr std::size_t kForms = 256;
  // Of credit_: a row of a known form earns one; learning a form costs kPrice, failing to kPriceOfNone.
  static constexpr int kMostCredit = 512, kPrice = 4, kPriceOfNone = 32;
  static constexpr unsigned kSleep = 1024;  // lines

  // The first of two places.
  static std::size_t place_of(std::uint64_t others) noexcept {
    return static_cast<std::size_t>(others * 0x9E3779B97F4A7C15u >> 57) * 2;
  }
  bool form_of(const char* p, std::size_t bytes, RowForm<T>& out) const;
  void pay(int price) noexcept {
    if ((credit_ -= price) >= 0) return;
    credit_ = kMostCredit / 4;
    asleep_ = kSleep;
  }

  std::array<RowKernel<T>, 2> kernels_{};  // without gaps, and with some
  RowKernel<T> kernel_ = nullptr;          // of these
  bool from_begins_ = false;               // see RowForm::digits
  std::array<Part, kRowSamples> parts_{};
  std::size_t samples_ = 0;
  std::array<Gap, kRowGaps> gap_{};
  std::size_t gaps_ = 0;
  bool to_end_ = true;
  std::array<std::uint64_t, kForms> others_{};  // 0: none
  std::array<std::uint16_t, kForms> form_{};    // its place in forms_
  std::vector<RowForm<T>> forms_;
  int credit_ = kMostCredit;
  unsigned asleep_ = 0;  // lines
};

extern template class RowForms<float>;
extern template class RowForms<double>;

}  // namespace batchfeed::ctf
