// SPDX-License-Identifier: MIT
//
// Faults become exceptions (batchfeed._errors), notices become calls.
#include <batchfeed/error.h>
#include <batchfeed/hint.h>

#include <functional>
#include <new>

#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

nb::str to_str(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

std::string to_string(nb::handle text) {
  const nb::bytes bytes = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {bytes.c_str(), bytes.size()};
}

nb::object to_python(const Fault& given, Severity severity) {
  Fault fault = given;
  fault.hint = with_names(fault.hint, [](std::string_view name, std::string_view value) {
    return to_string(nb::module_::import_("batchfeed._errors").attr("argument")(to_str(name), to_str(value)));
  });
  const auto number = [](std::uint64_t n) -> nb::object { return n == 0 ? nb::none() : nb::object(nb::int_(n)); };
  const auto text = [](std::string_view s) -> nb::object { return s.empty() ? nb::none() : nb::object(to_str(s)); };
  return nb::module_::import_("batchfeed._errors")
      .attr("Fault")("kind"_a = to_str(name(fault.kind)), "id"_a = to_str(fault.id), "path"_a = text(fault.at.file),
                     "line"_a = number(fault.at.line), "column"_a = number(fault.at.column),
                     "byte"_a = fault.at.has_byte ? nb::object(nb::int_(fault.at.byte)) : nb::none(),
                     "stream"_a = text(fault.stream), "what"_a = to_str(fault.what), "hint"_a = text(fault.hint),
                     "errno"_a = fault.system_error == 0 ? nb::none() : nb::object(nb::int_(fault.system_error)),
                     "severity"_a = nb::cast(severity), "text"_a = to_str(fault.text()));
}

namespace {

struct ReportCall {
  Held held;
  void operator()(const Notice& notice) const {
    const End::Asking here;
    if (Py_IsInitialized() == 0 || End::for_this_thread()) return;
    const Acquired gil;
    const Held::Call call(held);
    if (call.function().is_none()) return;  // the reader is gone
    try {
      call.function()(to_python(notice.fault, notice.severity));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) rethrow(error, &held);  // Ctrl-C and the like: they end the work
      error.discard_as_unraisable("batchfeed: report");
    }
  }
};

struct ProgressCall {
  Held held;
  void operator()(std::uint64_t done, std::uint64_t total) const {
    const End::Asking here;
    if (End::for_this_thread()) return;
    const Acquired gil;
    check_signals();
    const Held::Call call(held);
    if (!call.function().is_none()) call.function()(done, total);
  }
};

}  // namespace

Report to_report(nb::handle function) {
  if (function.is_none()) return {};
  return ReportCall{Held(function)};
}

std::function<void(std::uint64_t, std::uint64_t)> to_progress(nb::handle function) {
  if (function.is_none()) return [](std::uint64_t, std::uint64_t) { check_signals(); };
  return ProgressCall{Held(function)};
}

const Held* held_in(const Report& report) {
  const auto* call = report.target<ReportCall>();
  return call == nullptr ? nullptr : &call->held;
}

const Held* held_in(const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const auto* call = progress.target<ProgressCall>();
  return call == nullptr ? nullptr : &call->held;
}

namespace {

// Before Python 3.12 what C code has raised (1 / 0, next(empty)) is no exception yet, but what one is to be made of.
nb::object exception_of(const nb::python_error& error) {
#if PY_VERSION_HEX < 0x030C0000
  nb::python_error taken(error);
  taken.restore();
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
#else
  return nb::borrow(error.value());
#endif
}

}  // namespace

void rethrow(const nb::python_error& error, const Held* raised_by) {
  const nb::module_ errors = nb::module_::import_("batchfeed._errors");
  const nb::object exception = exception_of(error);
  if (!nb::isinstance(exception, errors.attr("Error"))) throw Raised(exception, raised_by);
  const nb::object from = exception.attr("fault");
  const auto text = [&](const char* field) {
    const nb::object value = from.attr(field);
    return value.is_none() ? std::string() : to_string(value);
  };
  const auto number = [&](const char* field) {
    const nb::object value = from.attr(field);
    return value.is_none() ? std::uint64_t{0} : nb::cast<std::uint64_t>(value);
  };
  Fault fault{.kind = named<FaultKind>(text("kind")).value_or(FaultKind::internal),
              .id = text("id"),
              .at = {.file = text("path"),
                     .byte = number("byte"),
                     .line = number("line"),
                     .column = number("column"),
                     .has_byte = !from.attr("byte").is_none()},
              .what = text("what"),
              .hint = text("hint"),
              .stream = text("stream"),
              .system_error = from.attr("errno").is_none() ? 0 : nb::cast<int>(from.attr("errno"))};
  throw Error(std::move(fault));
}

void check_signals() {
  const End::Asking here;
  if (End::for_this_thread()) return;
  const Acquired gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      try {
        const nb::object fresh = nb::module_::import_("batchfeed._errors").attr("again")(raised.exception());
        PyErr_SetObject(fresh.type().ptr(), fresh.ptr());
      } catch (nb::python_error& failed) {
        failed.restore();
      }
    }
  });
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      try {
        const nb::object exception =
            nb::module_::import_("batchfeed._errors").attr("exception")(to_python(error.fault()));
        PyErr_SetObject(exception.type().ptr(), exception.ptr());
      } catch (nb::python_error& failed) {
        failed.restore();
      }
    }
  });
}

}  // namespace batchfeed::python
