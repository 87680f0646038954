// SPDX-License-Identifier: MIT
#include "columns.h"

#include <nanobind/ndarray.h>

#include <algorithm>

namespace batchfeed::python {

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
void append(nb::handle from, Buffer<T>& to) {
  const auto array = nb::cast<Array<T>>(from);
  to.append(array.data(), array.size());
}

template <class T>
void append_bytes(nb::handle from, Buffer<std::byte>& to) {
  const auto array = nb::cast<Array<T>>(from);
  to.append(reinterpret_cast<const std::byte*>(array.data()), array.size() * sizeof(T));
}

void append_values(Element element, nb::handle from, Buffer<std::byte>& to) {
  element == Element::f32 ? append_bytes<float>(from, to) : append_bytes<double>(from, to);
}

// Python has made them fit. That nothing is read beyond an array is not left to it.
void expect_fit(const StreamInfo& stream, const Column& column) {
  const std::uint64_t samples = column.first_sample.back();
  const std::size_t values = column.values.size() / size_of(column.element);
  bool fits = std::is_sorted(column.first_sample.begin(), column.first_sample.end());
  if (column.storage == Storage::dense) {
    fits = fits && values == samples * column.dim;
  } else {
    fits = fits && values == column.indices.size() && column.first_value.size() == samples + 1 &&
           column.first_value[0] == 0 && column.first_value.back() == values &&
           std::is_sorted(column.first_value.begin(), column.first_value.end());
  }
  if (!fits) throw nb::value_error(("the arrays of stream '" + stream.name + "' do not fit each other").c_str());
}

}  // namespace

void fill(const std::vector<StreamInfo>& streams, nb::handle columns, Chunk& out) {
  out.reset(streams);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Column& column = out.columns[i];
    const nb::object parts = columns[i];
    const auto lengths = nb::cast<Array<std::uint32_t>>(parts[1]);
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      if (column.storage == Storage::dense) column.begin.push_back(column.first_sample.back() * column.dim);
      column.first_sample.push_back(column.first_sample.back() + lengths.data()[row]);
    }
    append_values(column.element, parts[0], column.values);
    if (column.storage == Storage::sparse) {
      append(parts[2], column.indices);
      column.first_value.clear();
      append(parts[3], column.first_value);
    }
    expect_fit(streams[i], column);
  }
}

void fill(nb::handle values, nb::handle offsets, nb::handle indices, nb::handle sample_begin, StreamBatch& out) {
  append_values(out.element, values, out.values);
  append(offsets, out.offsets);
  if (out.storage == Storage::dense) return;
  append(indices, out.indices);
  append(sample_begin, out.sample_begin);
}

}  // namespace batchfeed::python
