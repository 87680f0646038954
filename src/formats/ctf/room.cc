// SPDX-License-Identifier: MIT
//
// The memory of the parser's columns: it writes beyond their sizes, which are set when they grow and at the end.
#include <algorithm>

#include "formats/ctf/parse.h"

namespace batchfeed::ctf {

template <class T>
void Parser<T>::attach(StreamState& s) const {
  Column& column = *s.column;
  s.out = column.as<T>();
  s.capacity = column.values.capacity() / sizeof(T);
  if (s.sparse) {
    s.indices = column.indices.data();
    s.capacity = std::min<std::uint64_t>(s.capacity, column.indices.capacity());
    s.first_value = column.first_value.data();
    s.first_capacity = column.first_value.capacity();
  }
  s.capacity = std::min(s.capacity, s.most);
}

template <class T>
void Parser<T>::set_sizes(StreamState& s) const {
  s.column->values.resize(static_cast<std::size_t>(s.values) * sizeof(T));
  if (!s.sparse) return;
  s.column->indices.resize(static_cast<std::size_t>(s.values));
  s.column->first_value.resize(static_cast<std::size_t>(s.stored) + 1);
}

// Room for `values` values in all and one more sample; what is there stays.
template <class T>
void Parser<T>::make_room(StreamState& s, std::size_t stream, std::uint64_t values) {
  if (values > max_values_) log_.too_much(stream, max_values_);
  if (values > s.most) log_.too_short_rows(stream, max_implied_);
  set_sizes(s);
  if (values > s.capacity) {
    const auto n = static_cast<std::size_t>(std::min(s.most, std::max(values, s.capacity + s.capacity / 2)));
    s.column->values.reserve(n * sizeof(T));
    if (s.sparse) s.column->indices.reserve(n);
  }
  if (s.sparse) s.column->first_value.reserve(static_cast<std::size_t>(s.stored) + 2);
  attach(s);
}

template <class T>
void Parser<T>::expect(double parts, std::uint64_t rows, std::uint64_t all_rows) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    StreamState& s = streams_[i];
    const double all = parts * 1.05;
    const bool one_a_row = !s.sparse && rows != 0 && s.stored == rows;
    const double values =
        one_a_row ? static_cast<double>(all_rows) * static_cast<double>(s.dim) : static_cast<double>(s.values) * all;
    if (values > static_cast<double>(s.most)) continue;
    if (values > static_cast<double>(s.capacity)) make_room(s, i, static_cast<std::uint64_t>(values));
    if (!s.sparse) continue;
    set_sizes(s);
    s.column->first_value.reserve(static_cast<std::size_t>(static_cast<double>(s.stored) * all) + 2);
    attach(s);
  }
}

template <class T>
void Parser<T>::finish() {
  enter_rows();
  for (StreamState& s : streams_) set_sizes(s);
}

template <class T>
void Parser<T>::discard_values() {
  new_rows_ = 0;
  for (StreamState& s : streams_) {
    s.stored = s.values = s.begin_stored = s.begin_values = 0;
    s.column->first_sample.resize(1);
    s.column->begin.clear();
  }
}

template void Parser<float>::attach(Parser<float>::StreamState&) const;
template void Parser<float>::set_sizes(Parser<float>::StreamState&) const;
template void Parser<float>::make_room(Parser<float>::StreamState&, std::size_t, std::uint64_t);
template void Parser<float>::expect(double, std::uint64_t, std::uint64_t);
template void Parser<float>::finish();
template void Parser<float>::discard_values();
template void Parser<double>::attach(Parser<double>::StreamState&) const;
template void Parser<double>::set_sizes(Parser<double>::StreamState&) const;
template void Parser<double>::make_room(Parser<double>::StreamState&, std::size_t, std::uint64_t);
template void Parser<double>::expect(double, std::uint64_t, std::uint64_t);
template void Parser<double>::finish();
template void Parser<double>::discard_values();

}  // namespace batchfeed::ctf
