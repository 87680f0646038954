// SPDX-License-Identifier: MIT
//
// std::string and str, in place of <nanobind/stl/string.h>: bytes that are no UTF-8, as names of files and keys may
// hold, go to Python and back as os.fsdecode() and os.fsencode() do it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    const object bytes = steal(PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      return false;
    }
    value.assign(PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
    return true;
  }

  static handle from_cpp(const std::string& value, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape");
  }
};

}  // namespace nanobind::detail
