// SPDX-License-Identifier: MIT
//
// Writers of both formats behind one class.
#include <batchfeed/writer.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings.h"
#include "columns.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

class WriterCore {
 public:
  WriterCore(const std::string& path, Format format, std::vector<StreamInfo> streams, bool keys,
             std::uint64_t chunk_bytes, bool legacy, bool replace)
      : streams_(std::move(streams)) {
    if (format == Format::ctf) {
      text_.emplace(path, CtfWriterOptions{.streams = streams_, .ids = keys, .replace = replace});
    } else {
      binary_.emplace(
          path,
          CbfWriterOptions{
              .streams = streams_, .chunk_bytes = chunk_bytes, .legacy = legacy, .keys = keys, .replace = replace});
    }
  }

  // `keys`: as many as there are sequences, or none.
  void append(nb::handle columns, const std::vector<std::string>& keys) {
    fill(streams_, columns, chunk_);
    const auto rows = static_cast<std::uint32_t>(chunk_.columns.front().first_sample.size() - 1);
    const nb::gil_scoped_release unlocked;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::string_view key = keys.empty() ? std::string_view() : std::string_view(keys.at(row));
      if (text_) {
        text_->append(chunk_, row, key);
      } else {
        binary_->append(chunk_, row, key);
      }
    }
  }
  void commit() {
    const nb::gil_scoped_release unlocked;
    text_ ? text_->commit() : binary_->commit();
  }
  std::uint64_t sequences() const { return text_ ? text_->sequences() : binary_->sequences(); }
  std::uint64_t samples() const { return text_ ? text_->samples() : binary_->samples(); }

 private:
  std::vector<StreamInfo> streams_;
  std::optional<CtfWriter> text_;
  std::optional<CbfWriter> binary_;
  Chunk chunk_;
};

}  // namespace

void bind_writer(nb::module_& m) {
  nb::class_<WriterCore>(m, "WriterCore")
      .def(nb::init<const std::string&, Format, std::vector<StreamInfo>, bool, std::uint64_t, bool, bool>(), "path"_a,
           "format"_a, "streams"_a, "keys"_a, "chunk_bytes"_a, "legacy"_a, "replace"_a)
      .def("append", &WriterCore::append, "columns"_a, "keys"_a)
      .def("commit", &WriterCore::commit)
      .def_prop_ro("sequences", &WriterCore::sequences)
      .def_prop_ro("samples", &WriterCore::samples);
}

}  // namespace batchfeed::python
