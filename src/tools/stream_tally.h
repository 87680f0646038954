// SPDX-License-Identifier: MIT
//
// What one thread has seen of one stream: sums, extremes and counts, which can be
// added to another thread's.
#pragma once

#include <batchfeed/survey.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tools/column_tally.h"
#include "tools/moments.h"

namespace batchfeed {

class StreamTally {
 public:
  // How many more indices, and columns, may be counted one by one. A stream takes as many as it has, if there are.
  // Where columns are counted, indices are as well: their figures belong together.
  struct Left {
    std::uint64_t indices = 0, columns = 0;
  };

  StreamTally(const StreamInfo& stream, Left& left) {
    out_.stream = stream;
    out_.min = std::numeric_limits<double>::infinity();
    out_.max = -out_.min;
    out_.one_hot = true;
    const bool columns = stream.dim <= left.columns;
    if (columns) {
      left.columns -= stream.dim;
      columns_.emplace(static_cast<std::size_t>(stream.dim));
    }
    if (stream.dim > left.indices && !columns) return;
    left.indices -= std::min(left.indices, stream.dim);
    out_.by_index.resize(static_cast<std::size_t>(stream.dim));
    if (stream.storage == Storage::dense) {
      first_.resize(static_cast<std::size_t>(stream.dim));
      varies_.resize(static_cast<std::size_t>(stream.dim));
    }
  }

  // Counts a whole sequence; returns the label of its first sample.
  std::uint32_t add(const Column& column, std::uint32_t row) {
    return column.element == Element::f32 ? add_row<float>(column, row) : add_row<double>(column, row);
  }

  void merge(const StreamTally& other) {
    StreamSurvey& a = out_;
    const StreamSurvey& b = other.out_;
    for (std::size_t i = 0; i < first_.size() && b.samples != 0; ++i) {
      if (a.samples == 0) first_[i] = other.first_[i];
      varies_[i] = varies_[i] || other.varies_[i] || first_[i] != other.first_[i];
    }
    a.samples += b.samples;
    a.values += b.values;
    a.zeros += b.zeros;
    a.nans += b.nans;
    a.infinities += b.infinities;
    a.min = std::min(a.min, b.min);
    a.max = std::max(a.max, b.max);
    a.whole = a.whole && b.whole;
    a.one_hot = a.one_hot && b.one_hot;
    a.counts.add(b.counts);
    for (std::size_t i = 0; i < a.by_index.size(); ++i) a.by_index[i] += b.by_index[i];
    if (columns_) columns_->merge(*other.columns_);
    moments_.merge(other.moments_);
  }

  StreamSurvey finish() {
    StreamSurvey& out = out_;
    out.mean = moments_.mean;
    out.deviation = moments_.deviation();
    if (columns_) out.columns = columns_->finish(out.samples);
    if (moments_.n == 0) out.min = out.max = 0;
    out.one_hot = out.one_hot && out.samples != 0 && out.stream.dim > 1;
    out.used = static_cast<std::uint64_t>(
        std::count_if(out.by_index.begin(), out.by_index.end(), [](std::uint64_t n) { return n != 0; }));
    for (std::size_t i = 0; i < varies_.size() && out.samples > 1; ++i) {
      if (varies_[i]) continue;
      ++out.constants;
      if (out.constant.size() < kMostConstants) out.constant.push_back(i);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint64_t kMostConstants = 100;

  template <class T>
  std::uint32_t add_row(const Column& column, std::uint32_t row) {
    std::uint32_t label = Survey::kNoLabel;
    for (std::uint32_t i = 0; i < column.samples(row); ++i) {
      const std::uint32_t one =
          column.storage == Storage::dense ? add_dense<T>(column, row, i) : add_sparse<T>(column, row, i);
      if (i == 0) label = one;
      if (column.storage == Storage::sparse) i += add_run<T>(column, row, i);
    }
    return label;
  }

  template <class T>
  std::uint32_t add_dense(const Column& column, std::uint32_t row, std::uint32_t i) {
    const T* const values = column.as<T>() + column.begin[row] + i * column.step;
    const auto dim = static_cast<std::size_t>(column.dim);
    const Hot hot = add_values(values, dim, [](std::size_t d) { return d; });
    if (!first_.empty()) {
      if (out_.samples == 0) std::copy(values, values + dim, first_.begin());
      // A NaN is unlike itself: a column of them varies.
      for (std::size_t d = 0; d < dim; ++d) varies_[d] |= static_cast<double>(values[d]) != first_[d];
    }
    ++out_.samples;
    return label_of(hot);
  }

  template <class T>
  std::uint32_t add_sparse(const Column& column, std::uint32_t row, std::uint32_t i) {
    const std::size_t n = std::size_t{column.first_sample[row]} + i;
    const std::size_t begin = column.first_value[n], end = column.first_value[n + 1];
    const std::int32_t* const indices = column.indices.data() + begin;
    const Hot hot = add_values(column.as<T>() + begin, end - begin,
                               [&](std::size_t k) { return static_cast<std::size_t>(indices[k]); });
    ++out_.samples;
    return label_of(hot);
  }

  // Counts at once the samples behind sample i, which was added, that are equal to it; returns how many. Labels come in
  // runs, and a few bytes may stand for very many. Only if they leave the moments as they are, so that sums are the
  // same as one by one.
  template <class T>
  std::uint32_t add_run(const Column& column, std::uint32_t row, std::uint32_t i) {
    const std::size_t n = std::size_t{column.first_sample[row]} + i, end = column.first_sample[row + 1];
    const std::size_t at = column.first_value[n];
    if (column.first_value[n + 1] - at != 1) return 0;
    const T value = column.as<T>()[at];
    if (static_cast<double>(value) != moments_.mean) return 0;
    std::size_t last = n;
    while (last + 1 < end && column.first_value[last + 2] == at + (last + 2 - n) &&
           column.indices[at + (last + 1 - n)] == column.indices[at] && column.as<T>()[at + (last + 1 - n)] == value)
      ++last;
    const std::uint64_t more = last - n;
    if (more == 0) return 0;
    out_.samples += more;
    out_.values += more;
    out_.counts.add(as_float(value), more);
    moments_.n += more;
    if (columns_) columns_->add(static_cast<std::size_t>(column.indices[at]), static_cast<double>(value), more);
    if (value == T{0}) {
      out_.zeros += more;
    } else if (!out_.by_index.empty()) {
      out_.by_index[static_cast<std::size_t>(column.indices[at])] += more;
    }
    return static_cast<std::uint32_t>(more);
  }

  struct Hot {
    std::size_t values = 0, index = 0;  // number of values that are not 0; index of the last of them
    bool is_one = true;
  };

  // What a float cannot hold counts as its greatest value, and not as infinite.
  static float as_float(float value) { return value; }
  static float as_float(double value) {
    constexpr auto kGreatest = static_cast<double>(std::numeric_limits<float>::max());
    return static_cast<float>(std::isfinite(value) ? std::clamp(value, -kGreatest, kGreatest) : value);
  }

  template <class T, class IndexOf>
  Hot add_values(const T* values, std::size_t n, const IndexOf& index_of) {
    Hot hot;
    // Sums of one sample around its first value, so that little is lost.
    Moments part;
    double pivot = 0, sum = 0, squares = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double value = static_cast<double>(values[k]);
      out_.counts.add(as_float(values[k]));
      if (columns_) columns_->add(index_of(k), value);
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out_.nans : out_.infinities);
      } else {
        if (part.n++ == 0) pivot = value;
        sum += value - pivot;
        squares += (value - pivot) * (value - pivot);
        out_.min = std::min(out_.min, value);
        out_.max = std::max(out_.max, value);
        if (std::abs(value) < 1e18)
          out_.whole = out_.whole && static_cast<double>(static_cast<std::int64_t>(value)) == value;
      }
      if (value == 0) {
        ++out_.zeros;
        continue;
      }
      hot.is_one = hot.is_one && value == 1;
      hot.index = index_of(k);
      ++hot.values;
      if (!out_.by_index.empty()) ++out_.by_index[hot.index];
    }
    out_.values += n;
    if (part.n != 0) {
      const auto count = static_cast<double>(part.n);
      part.mean = pivot + sum / count;
      part.squares = std::isfinite(squares) ? std::max(0.0, squares - sum * (sum / count))
                                            : std::numeric_limits<double>::infinity();
      moments_.merge(part);
    }
    return hot;
  }

  std::uint32_t label_of(const Hot& hot) {
    const bool is_label = hot.values == 1 && hot.is_one;
    out_.one_hot = out_.one_hot && is_label;
    return is_label ? static_cast<std::uint32_t>(hot.index) : Survey::kNoLabel;
  }

  StreamSurvey out_;
  Moments moments_;
  std::optional<ColumnTally> columns_;
  std::vector<double> first_;
  std::vector<char> varies_;
};

}  // namespace batchfeed
