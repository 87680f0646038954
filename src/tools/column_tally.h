// SPDX-License-Identifier: MIT
//
// What one thread has seen of each column of a stream.
#pragma once

#include <batchfeed/survey.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/saturate.h"
#include "tools/moments.h"

namespace batchfeed {

class ColumnTally {
 public:
  explicit ColumnTally(std::size_t dim) : columns_(dim) {}

  void add(std::size_t index, double value, std::uint64_t times = 1) {
    One& one = columns_[index];
    if (!std::isfinite(value)) {
      one.not_finite += times;
      return;
    }
    one.min = std::min(one.min, value);
    one.max = std::max(one.max, value);
    if (times == 1) {
      one.moments.add(value);
    } else {
      one.moments.merge({.n = times, .mean = value});
    }
  }

  void merge(const ColumnTally& other) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      One& one = columns_[i];
      const One& more = other.columns_[i];
      one.min = std::min(one.min, more.min);
      one.max = std::max(one.max, more.max);
      one.not_finite += more.not_finite;
      one.moments.merge(more.moments);
    }
  }

  // `samples`: those of the stream. A column for which a sparse sample has no entry counts as 0 in it.
  StreamSurvey::Columns finish(std::uint64_t samples) {
    StreamSurvey::Columns out;
    for (std::vector<double>* const row : {&out.min, &out.max, &out.mean, &out.deviation})
      row->reserve(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      One& one = columns_[i];
      const std::uint64_t named = add_sat(one.moments.n, one.not_finite);
      if (named < samples) add(i, 0, samples - named);
      const bool known = one.moments.n != 0;
      out.min.push_back(known ? one.min : kUnknown);
      out.max.push_back(known ? one.max : kUnknown);
      out.mean.push_back(known ? one.moments.mean : kUnknown);
      out.deviation.push_back(known ? one.moments.deviation() : kUnknown);
    }
    return out;
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  struct One {
    double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
    Moments moments;
    std::uint64_t not_finite = 0;
  };
  std::vector<One> columns_;
};

}  // namespace batchfeed
