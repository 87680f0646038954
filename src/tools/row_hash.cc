// SPDX-License-Identifier: MIT
#include "tools/row_hash.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace batchfeed {

namespace {

template <class T>
std::uint64_t without_zeros(const Column& column, std::uint32_t row, std::uint32_t sample) {
  std::uint64_t out = 0;
  const auto add = [&out](std::uint64_t index, T value) {
    if (value != 0) out = hash_bytes(&index, sizeof index, hash_bytes(&value, sizeof value, out));
  };
  if (column.storage == Storage::dense) {
    const T* const from = column.as<T>() + column.begin[row] + sample * column.step;
    for (std::uint64_t i = 0; i < column.dim; ++i) add(i, from[i]);
  } else {
    const std::size_t n = std::size_t{column.first_sample[row]} + sample;
    for (std::uint32_t v = column.first_value[n]; v < column.first_value[n + 1]; ++v)
      add(static_cast<std::uint64_t>(column.indices[v]), column.as<T>()[v]);
  }
  return out;
}

}  // namespace

std::uint64_t RowHash::operator()(const Chunk& chunk, std::uint32_t row, std::string_view key) {
  Fingerprint print;
  print.add(key);
  for (const Column& column : chunk.columns) {
    const std::uint32_t samples = column.samples(row);
    const std::size_t width = size_of(column.element);
    print.add(samples);
    for (std::uint32_t i = 0; i < samples; ++i) {
      if (zeros_ == Zeros::left_out) {
        print.add(column.element == Element::f32 ? without_zeros<float>(column, row, i)
                                                 : without_zeros<double>(column, row, i));
      } else if (column.storage == Storage::dense) {
        const std::byte* const from = column.values.data() + (column.begin[row] + i * column.step) * width;
        print.add(hash_bytes(from, static_cast<std::size_t>(column.dim) * width));
      } else {
        const std::size_t n = std::size_t{column.first_sample[row]} + i;
        const std::size_t begin = column.first_value[n], end = column.first_value[n + 1];
        print.add(zeros_ == Zeros::added ? with_zeros(column, begin, end) : sparse_sample(column, begin, end));
      }
    }
  }
  return print.value();
}

std::uint64_t RowHash::with_zeros(const Column& column, std::size_t begin, std::size_t end) {
  const std::size_t width = size_of(column.element);
  sample_.assign(static_cast<std::size_t>(column.dim) * width, std::byte{0});
  for (std::size_t v = begin; v < end; ++v)
    std::memcpy(sample_.data() + static_cast<std::size_t>(column.indices[v]) * width, column.values.data() + v * width,
                width);
  return hash_bytes(sample_.data(), sample_.size());
}

std::uint64_t RowHash::sparse_sample(const Column& column, std::size_t begin, std::size_t end) {
  const std::int32_t* const indices = column.indices.data();
  const std::size_t width = size_of(column.element);
  if (end - begin == 1) {
    // The last hash is kept, as labels come in runs.
    std::uint64_t value = 0;
    std::memcpy(&value, column.values.data() + begin * width, width);
    if (indices[begin] != last_index_ || value != last_value_ || width != last_width_) {
      last_index_ = indices[begin];
      last_value_ = value;
      last_width_ = width;
      last_ = hash_bytes(indices + begin, 4, hash_bytes(column.values.data() + begin * width, width, 1));
    }
    return last_;
  }
  if (std::is_sorted(indices + begin, indices + end)) {
    return hash_bytes(indices + begin, (end - begin) * 4,
                      hash_bytes(column.values.data() + begin * width, (end - begin) * width, end - begin));
  }
  order_.resize(end - begin);
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(begin + i);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return indices[a] < indices[b]; });
  std::vector<std::int32_t> sorted(order_.size());
  std::vector<std::byte> values(order_.size() * width);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    sorted[i] = indices[order_[i]];
    std::memcpy(values.data() + i * width, column.values.data() + order_[i] * width, width);
  }
  return hash_bytes(sorted.data(), sorted.size() * 4, hash_bytes(values.data(), values.size(), order_.size()));
}

}  // namespace batchfeed
