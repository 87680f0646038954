// SPDX-License-Identifier: MIT
#include "tools/compare_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/counted.h"
#include "model/shared_source.h"

namespace batchfeed {

namespace {

template <class T>
std::string text(T value) {
  if (std::isnan(value)) return "nan";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <class T>
bool same(T a, T b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  if (std::isinf(x) || std::isinf(y)) return false;  // no tolerance reaches infinity, which would multiply it
  return std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)});
}

template <class T>
using Entries = std::vector<std::pair<std::uint64_t, T>>;

template <class T>
void entries_of(const Column& column, std::uint32_t row, std::uint32_t sample, Entries<T>& out) {
  out.clear();
  if (column.storage == Storage::dense) {
    const T* const values = column.as<T>() + column.begin[row] + sample * column.step;
    for (std::uint64_t d = 0; d < column.dim; ++d) out.emplace_back(d, values[d]);
    return;
  }
  const std::size_t n = std::size_t{column.first_sample[row]} + sample;
  for (std::size_t k = column.first_value[n]; k < column.first_value[n + 1]; ++k)
    out.emplace_back(static_cast<std::uint64_t>(column.indices[k]), column.as<T>()[k]);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

template <class T>
std::string first_difference(const Entries<T>& a, const Entries<T>& b, double tolerance) {
  std::size_t i = 0, k = 0;
  for (; i < a.size() && k < b.size(); ++i, ++k) {
    const std::uint64_t index = std::min(a[i].first, b[k].first);
    const std::string at = "[" + std::to_string(index) + "] is ";
    if (a[i].first != b[k].first)
      return at + (a[i].first == index ? text(a[i].second) + " and not there" : "not there and " + text(b[k].second));
    if (!same(a[i].second, b[k].second, tolerance)) return at + text(a[i].second) + " and " + text(b[k].second);
  }
  if (i < a.size()) return "[" + std::to_string(a[i].first) + "] is " + text(a[i].second) + " and not there";
  if (k < b.size()) return "[" + std::to_string(b[k].first) + "] is not there and " + text(b[k].second);
  return {};
}

template <class T>
void compare_streams(const std::string& name, const Column& a, std::uint32_t row_a, const Column& b,
                     std::uint32_t row_b, double tolerance, RowDifference& out) {
  Entries<T> left, right;
  const std::uint32_t samples = std::min(a.samples(row_a), b.samples(row_b));
  for (std::uint32_t i = 0; i <= samples && !out.differ; ++i) {
    std::string what;
    if (i == samples) {
      if (a.samples(row_a) == b.samples(row_b)) return;
      what = ": " + counted(a.samples(row_a), "sample") + " and " + std::to_string(b.samples(row_b));
    } else {
      entries_of(a, row_a, i, left);
      entries_of(b, row_b, i, right);
      what = first_difference(left, right, tolerance);
      if (what.empty()) continue;
      what = ", sample " + std::to_string(i) + ": " + what;
    }
    out = {.differ = true,
           .what = "stream '" + name + "'" + what,
           .sample = i,
           .samples_a = a.samples(row_a),
           .samples_b = b.samples(row_b)};
  }
}

class Floats final : public SharedSource {
 public:
  explicit Floats(std::shared_ptr<const Source> from) : SharedSource(std::move(from)), streams_(source().streams()) {
    for (StreamInfo& stream : streams_) stream.element = Element::f32;
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  void read(std::uint32_t chunk, Chunk& out) const override {
    source().read(chunk, out);
    for (Column& column : out.columns) {
      if (column.element == Element::f32) continue;
      const std::size_t n = column.values.size() / sizeof(double);
      for (std::size_t i = 0; i < n; ++i) {  // in place: a float never overwrites a double that is still to be read
        double value = 0;
        std::memcpy(&value, column.values.data() + i * sizeof value, sizeof value);
        const auto narrow = static_cast<float>(value);
        std::memcpy(column.values.data() + i * sizeof narrow, &narrow, sizeof narrow);
      }
      column.values.resize(n * sizeof(float));
      column.element = Element::f32;
    }
  }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return nullptr; }

 private:
  std::vector<StreamInfo> streams_;
};

}  // namespace

RowDifference compare_rows(const std::vector<StreamInfo>& streams, const Chunk& a, std::uint32_t row_a, const Chunk& b,
                           std::uint32_t row_b, double tolerance) {
  RowDifference out;
  for (std::size_t i = 0; i < streams.size() && !out.differ; ++i) {
    const Column& left = a.columns[i];
    if (left.element == Element::f32) {
      compare_streams<float>(streams[i].name, left, row_a, b.columns[i], row_b, tolerance, out);
    } else {
      compare_streams<double>(streams[i].name, left, row_a, b.columns[i], row_b, tolerance, out);
    }
  }
  return out;
}

std::shared_ptr<const Source> as_floats(std::shared_ptr<const Source> source) {
  return std::make_shared<Floats>(std::move(source));
}

}  // namespace batchfeed
