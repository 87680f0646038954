// SPDX-License-Identifier: MIT
//
// The parts of the extension module batchfeed._core, one file a topic. There is
// no logic here: what a user sees is in the Python package, what works is in
// the library.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/source.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "gil.h"
#include "held.h"
#include "text.h"

namespace batchfeed::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_arrow(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_files(nb::module_& m);
void bind_options(nb::module_& m);
void bind_config(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_reader(nb::module_& m);
void bind_source(nb::module_& m);
void bind_tools(nb::module_& m);
void bind_writer(nb::module_& m);

// Bytes from a file as str: what is no UTF-8 becomes surrogates, as in file names.
nb::str to_str(std::string_view text);
std::string to_string(nb::handle text);  // and back

// batchfeed._errors.Fault
nb::object to_python(const Fault& fault, Severity severity = Severity::error);

// An exception of Python's that may be thrown again and again.
class Raised : public std::exception {
 public:
  explicit Raised(nb::handle exception, const Held* raised_by = nullptr) : exception_(exception) {
    if (raised_by != nullptr) raised_by->has_raised(exception_);
  }
  const char* what() const noexcept override { return "an exception in Python"; }
  nb::handle exception() const noexcept { return exception_.get(); }
  // An Exception; not KeyboardInterrupt, SystemExit and the like. May be called without the GIL.
  bool is_of_data() const {
    const Acquired gil;
    return PyObject_IsInstance(exception_.get().ptr(), PyExc_Exception) == 1;
  }

 private:
  Held exception_;
};
// What Python raised as the library knows it: an Error if it is one of batchfeed's,
// else Raised. Needs the GIL.
[[noreturn]] void rethrow(const nb::python_error& error, const Held* raised_by = nullptr);

// None: an empty Report.
Report to_report(nb::handle function);
// The Python object that one of these holds; null: none.
const Held* held_in(const Report& report);
const Held* held_in(const std::function<void(std::uint64_t, std::uint64_t)>& progress);
const Held* held_in(const Source& source);
// A progress function that throws what a signal handler has raised (KeyboardInterrupt), so
// that long work ends there, and then calls `function` unless it is None. It and
// check_signals(), which does the first of these, may be called without the GIL.
std::function<void(std::uint64_t, std::uint64_t)> to_progress(nb::handle function);
void check_signals();

}  // namespace batchfeed::python
