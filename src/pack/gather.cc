// SPDX-License-Identifier: MIT
#include "pack/gather.h"

#include <cstring>

namespace batchfeed::pack {

void gather_dense(const Column& column, std::uint32_t row, Run run, StreamBatch& out) {
  const std::size_t each = size_of(column.element);
  const std::size_t sample = static_cast<std::size_t>(column.dim) * each;
  const std::byte* from = column.values.data() + (column.begin[row] + run.first * column.step) * each;
  if (column.step == column.dim) {
    out.values.append(from, sample * run.count);
    return;
  }
  const std::size_t size = out.values.size();
  out.values.resize(size + sample * run.count);
  std::byte* to = out.values.data() + size;
  for (std::uint32_t i = 0; i < run.count; ++i, to += sample, from += column.step * each) std::memcpy(to, from, sample);
}

void gather_sparse(const Column& column, std::uint32_t row, Run run, StreamBatch& out) {
  const std::size_t each = size_of(column.element);
  const std::uint32_t* begin = column.first_value.data() + column.first_sample[row] + run.first;
  const std::uint32_t from = begin[0];
  const std::uint32_t count = begin[run.count] - from;
  const std::int64_t shift = static_cast<std::int64_t>(out.indices.size()) - from;
  out.values.append(column.values.data() + from * each, count * each);
  out.indices.append(column.indices.data() + from, count);
  out.sample_begin.reserve(out.sample_begin.size() + run.count);
  for (std::uint32_t i = 1; i <= run.count; ++i) out.sample_begin.push_back(shift + begin[i]);
}

namespace {

template <class T>
void scatter(const Column& column, const std::uint32_t* begin, std::uint32_t count, std::byte* bytes) {
  T* to = reinterpret_cast<T*>(bytes);
  for (std::uint32_t i = 0; i < count; ++i, to += column.dim) {
    for (std::uint32_t k = begin[i]; k < begin[i + 1]; ++k) to[column.indices[k]] = column.as<T>()[k];
  }
}

}  // namespace

void gather_sparse_as_dense(const Column& column, std::uint32_t row, Run run, StreamBatch& out) {
  const std::size_t sample = static_cast<std::size_t>(column.dim) * size_of(column.element);
  const std::size_t size = out.values.size();
  out.values.resize(size + sample * run.count);
  std::memset(out.values.data() + size, 0, sample * run.count);
  const std::uint32_t* begin = column.first_value.data() + column.first_sample[row] + run.first;
  if (column.element == Element::f32) {
    scatter<float>(column, begin, run.count, out.values.data() + size);
  } else {
    scatter<double>(column, begin, run.count, out.values.data() + size);
  }
}

}  // namespace batchfeed::pack
