// SPDX-License-Identifier: MIT
#include "columns.h"

#include <nanobind/ndarray.h>

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
void append_values(nb::handle from, Buffer<std::byte>& to) {
  const auto array = nb::cast<Array<T>>(from);
  to.append(reinterpret_cast<const std::byte*>(array.data()), array.size() * sizeof(T));
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
    if (column.element == Element::f32) {
      append_values<float>(parts[0], column.values);
    } else {
      append_values<double>(parts[0], column.values);
    }
    if (column.storage == Storage::dense) continue;
    append(parts[2], column.indices);
    column.first_value.clear();
    append(parts[3], column.first_value);
  }
}

}  // namespace batchfeed::python
