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
void append_bytes(nb::handle from, Buffer<std::byte>& to) {
  const auto array = nb::cast<Array<T>>(from);
  to.append(reinterpret_cast<const std::byte*>(array.data()), array.size() * sizeof(T));
}

void append_values(Element element, nb::handle from, Buffer<std::byte>& to) {
  element == Element::f32 ? append_bytes<float>(from, to) : append_bytes<double>(from, to);
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
    if (column.storage == Storage::dense) continue;
    append(parts[2], column.indices);
    column.first_value.clear();
    append(parts[3], column.first_value);
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
