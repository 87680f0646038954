// SPDX-License-Identifier: MIT
//
// Files that Python opens (batchfeed._files).
#include <batchfeed/files.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace batchfeed::python {

namespace {

// Calls into Python from any thread; what it raises goes on as an exception of the library's.
template <class Work>
auto in_python(const Work& work) {
  const Acquired gil;
  try {
    return work();
  } catch (const nb::python_error& error) {
    rethrow(error);
  }
}

void read(nb::handle file, std::uint64_t offset, std::span<std::byte> out) {
  const nb::object view = nb::steal(
      PyMemoryView_FromMemory(reinterpret_cast<char*>(out.data()), static_cast<Py_ssize_t>(out.size()), PyBUF_WRITE));
  if (!view.is_valid()) throw nb::python_error();
  file.attr("read")(offset, view);
  view.attr("release")();  // whoever kept it cannot write any more
}

// Errors do not matter, as read() will meet them; but an interrupt is one for read() to end with.
void will_read(nb::handle file, std::uint64_t begin, std::uint64_t end) {
  const Acquired gil;
  try {
    file.attr("will_read")(begin, end);
  } catch (const nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  }
}

std::shared_ptr<const RemoteFile> wrap(nb::handle opened) {
  const Held file(opened);
  return std::make_shared<const RemoteFile>(RemoteFile{
      .size = nb::cast<std::uint64_t>(opened.attr("size")),
      .version = to_string(opened.attr("version")),
      .read = [file](std::uint64_t offset,
                     std::span<std::byte> out) { in_python([&] { read(file.get(), offset, out); }); },
      .will_read = [file](std::uint64_t begin, std::uint64_t end) { will_read(file.get(), begin, end); },
      .unchanged = [file] { return in_python([&] { return nb::cast<bool>(file.get().attr("unchanged")()); }); }});
}

// `files.open(url)` gives an object with size, version, read(offset, view),
// will_read(begin, end) and unchanged(); `files.glob(pattern)` a list of URLs.
FileSystem make(nb::handle files) {
  const Held held(files);
  return {.open =
              [held](const std::string& url) {
                return in_python([&] { return wrap(nb::borrow(held.get()).attr("open")(to_str(url))); });
              },
          .glob =
              [held](const std::string& pattern) {
                return in_python([&] {
                  return nb::cast<std::vector<std::string>>(nb::borrow(held.get()).attr("glob")(to_str(pattern)));
                });
              }};
}

}  // namespace

void bind_files(nb::module_& m) {
  nb::class_<FileSystem>(m, "FileSystem")
      .def(nb::init<>())
      .def(
          "__init__", [](FileSystem* self, nb::handle files) { new (self) FileSystem(make(files)); }, "files"_a)
      .def_rw("roots", &FileSystem::roots)
      .def_rw("folder", &FileSystem::folder);
  m.def(
      "is_url", [](const std::string& text) { return is_url(text); }, "text"_a);
}

}  // namespace batchfeed::python
