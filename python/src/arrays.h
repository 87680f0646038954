// SPDX-License-Identifier: MIT
//
// NumPy arrays over memory that is not NumPy's: by NumPy's own C interface, as
// they are made with every minibatch and nb::ndarray takes three times as long.
#pragma once

#include <batchfeed/schema.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace batchfeed::python {

namespace nb = nanobind;

void import_numpy();  // once, before any array is made

// C-contiguous, writable arrays over `data`, which stays valid as long as `owner` lives; they hold a reference to it.
nb::object array(bool* data, std::initializer_list<std::size_t> shape, nb::handle owner);
nb::object array(std::int32_t* data, std::initializer_list<std::size_t> shape, nb::handle owner);
nb::object array(std::int64_t* data, std::initializer_list<std::size_t> shape, nb::handle owner);
nb::object array(std::byte* data, Element element, std::initializer_list<std::size_t> shape, nb::handle owner);

}  // namespace batchfeed::python
