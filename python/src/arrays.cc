// SPDX-License-Identifier: MIT
#include "arrays.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION  // pyproject.toml: numpy>=1.24, whose C API is this one
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>

namespace batchfeed::python {

namespace {

nb::object make_array(void* data, int type, std::initializer_list<std::size_t> shape, nb::handle owner) {
  static double nothing = 0;  // no memory has been needed
  std::array<npy_intp, 3> sizes{};
  std::transform(shape.begin(), shape.end(), sizes.begin(), [](std::size_t n) { return static_cast<npy_intp>(n); });
  nb::object out = nb::steal(PyArray_New(&PyArray_Type, static_cast<int>(shape.size()), sizes.data(), type, nullptr,
                                         data == nullptr ? &nothing : data, 0, NPY_ARRAY_CARRAY, nullptr));
  if (!out || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(out.ptr()), owner.inc_ref().ptr()) < 0)
    throw nb::python_error();
  return out;
}

}  // namespace

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

nb::object array(bool* data, std::initializer_list<std::size_t> shape, nb::handle owner) {
  return make_array(data, NPY_BOOL, shape, owner);
}
nb::object array(std::int32_t* data, std::initializer_list<std::size_t> shape, nb::handle owner) {
  return make_array(data, NPY_INT32, shape, owner);
}
nb::object array(std::int64_t* data, std::initializer_list<std::size_t> shape, nb::handle owner) {
  return make_array(data, NPY_INT64, shape, owner);
}
nb::object array(std::byte* data, Element element, std::initializer_list<std::size_t> shape, nb::handle owner) {
  return make_array(data, element == Element::f32 ? NPY_FLOAT32 : NPY_FLOAT64, shape, owner);
}

}  // namespace batchfeed::python
