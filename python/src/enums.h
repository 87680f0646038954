// SPDX-License-Identifier: MIT
//
// Enumerations are words in Python: "dense", "uniform", ...
#pragma once

#include <batchfeed/convert.h>
#include <batchfeed/options.h>
#include <batchfeed/tools.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nanobind::detail {

template <class E>
struct word_caster {
  NB_TYPE_CASTER(E, const_name("str"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), &size) : nullptr;
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    const auto found = batchfeed::named<E>(std::string_view(text, static_cast<std::size_t>(size)));
    if (found) value = *found;
    return found.has_value();
  }

  static handle from_cpp(E e, rv_policy, cleanup_list*) noexcept {
    const std::string_view word = batchfeed::name(e);
    return PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()));
  }
};

// One by one, as only full specialisations go before nanobind's own caster of enumerations. A file that binds one of
// these has to include this header.
template <>
struct type_caster<batchfeed::Storage> : word_caster<batchfeed::Storage> {};
template <>
struct type_caster<batchfeed::Element> : word_caster<batchfeed::Element> {};
template <>
struct type_caster<batchfeed::KeyMode> : word_caster<batchfeed::KeyMode> {};
template <>
struct type_caster<batchfeed::OrderKind> : word_caster<batchfeed::OrderKind> {};
template <>
struct type_caster<batchfeed::Shard> : word_caster<batchfeed::Shard> {};
template <>
struct type_caster<batchfeed::Packing> : word_caster<batchfeed::Packing> {};
template <>
struct type_caster<batchfeed::SizeUnit> : word_caster<batchfeed::SizeUnit> {};
template <>
struct type_caster<batchfeed::LongSequence> : word_caster<batchfeed::LongSequence> {};
template <>
struct type_caster<batchfeed::LastMinibatch> : word_caster<batchfeed::LastMinibatch> {};
template <>
struct type_caster<batchfeed::ReaderOptions::Driver> : word_caster<batchfeed::ReaderOptions::Driver> {};
template <>
struct type_caster<batchfeed::Severity> : word_caster<batchfeed::Severity> {};
template <>
struct type_caster<batchfeed::Format> : word_caster<batchfeed::Format> {};
template <>
struct type_caster<batchfeed::ConvertOptions::Keys> : word_caster<batchfeed::ConvertOptions::Keys> {};

}  // namespace nanobind::detail
