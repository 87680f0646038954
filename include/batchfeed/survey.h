// SPDX-License-Identifier: MIT
//
// What the data of a corpus are like, from one reading of all of it in memory
// that does not grow with the number of values.
#pragma once

#include <batchfeed/source.h>
#include <batchfeed/tools.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace batchfeed {

// Counts values by the upper 16 bits of their float form: a bin is 1/128 of its
// value wide, and whole numbers up to 256 have bins of their own.
// 8 KiB, and 128 bytes for 16 bins that lie together, once one of them is not empty.
class ValueCounts {
 public:
  void add(float value, std::uint64_t times = 1);
  void add(const ValueCounts& other);

  // Of finite values, to within 1 %, with no more digits than that tells; 0 if there are none. 0 <= q <= 1.
  double quantile(double q) const;

  struct Bar {
    double low = 0, high = 0;  // low <= value < high, the last one's high included
    std::uint64_t count = 0;
  };
  // At most `most` bars of equal width from `min` to `max`; one for each number
  // where the values are few whole ones.
  std::vector<Bar> bars(double min, double max, bool whole, std::size_t most) const;

 private:
  static constexpr std::uint32_t kTogether = 16, kBins = 1u << 16;

  std::uint64_t& bin(std::size_t i);
  std::uint64_t count(std::size_t i) const noexcept;
  template <class Visit>
  void for_each(const Visit& visit) const;

  std::array<std::uint16_t, kBins / kTogether> where_{};  // of 16 bins: 0 if all are empty, else 1 + counts_ index / 16
  std::vector<std::uint64_t> counts_;
};

struct StreamSurvey {
  StreamInfo stream;
  std::uint64_t samples = 0;
  std::uint64_t values = 0;  // as stored: the entries of sparse samples, all elements of dense ones
  std::uint64_t zeros = 0, nans = 0, infinities = 0;  // among them
  double min = 0, max = 0, mean = 0, deviation = 0;   // of finite values, all of them: a division by n, not n - 1
  bool whole = true;                                  // whole numbers only
  ValueCounts counts;                                 // doubles that a float cannot hold count as its greatest value

  // Of finite values, as that of `counts`, from `min` to `max`.
  double quantile(double q) const;

  // How many values are not 0, for each index of a sample (a column, a feature). Empty if the dims of this stream and
  // of the streams before it that have such counts are more than kMostIndices together, and it has no `columns`.
  static constexpr std::uint64_t kMostIndices = 1u << 22;
  std::vector<std::uint64_t> by_index;
  std::uint64_t used = 0;               // indices with a value that is not 0
  std::vector<std::uint64_t> constant;  // dense: indices with one and the same value in all samples; the first 100
  std::uint64_t constants = 0;          // how many there are
  bool one_hot = false;                 // every sample has a single 1 and zeros: a label

  // The same figures of finite values for each index, if SurveyOptions::columns asks for them. Empty if the dims of
  // this stream and of the streams before it that have such figures are more than kMostColumns together. What a sparse
  // sample does not store is 0. NaN where no value is finite.
  static constexpr std::uint64_t kMostColumns = 1u << 20;
  struct Columns {
    std::vector<double> min, max, mean, deviation;
  };
  Columns columns;

  // Part of the elements that are not 0.
  double density() const noexcept;
  // Indices with the most values that are not 0, most first.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> top(std::size_t most) const;
};

struct Survey {
  std::vector<StreamSurvey> streams;
  std::uint64_t sequences = 0, samples = 0, bytes = 0;
  std::uint64_t invalid = 0;  // sequences that are damaged; not in the figures

  // Sequences with the same data as one before, keys aside. Beyond 2^24 sequences, or 2^20 that have fewer
  // than 16 bytes each, it is an estimate from a part of them.
  std::uint64_t duplicates = 0;
  bool duplicates_estimated = false;

  // The stream of labels that mixing is judged by, and the label of each sequence
  // (of its first sample; kNoLabel: damaged), by chunk and row. Empty where there is
  // no label stream of at least two classes, or beyond 2^24 sequences.
  static constexpr std::uint32_t kNoLabel = 0xFFFFFFFFu;
  std::string label_stream;
  std::vector<std::vector<std::uint32_t>> labels;

  std::optional<Fault> unread;  // why a part could not be read, where it is not the data that are damaged
  CheckResult check;            // what was found wrong on the way
  double seconds = 0;           // the reading took, wall time
  unsigned threads = 1;         // that read
};

struct SurveyOptions {
  std::uint64_t max_faults = CheckOptions{}.max_faults;  // that are reported; all are counted
  Progress progress = {};
  bool columns = false;  // figures of each: 48 bytes a column and thread
};

// Opens the corpus of a setup as a reader does, reads all of it, and reports every
// fault. Throws Error if it cannot be opened.
Survey survey(const Setup& setup, const SurveyOptions& options = {}, const Report& report = {});

}  // namespace batchfeed
