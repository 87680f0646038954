// SPDX-License-Identifier: MIT
//
// Writers of both formats behind one class.
#include <batchfeed/writer.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <utility>

#include "bindings.h"
#include "columns.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

// Several threads may share it: what one call gives stands together in the file.
class WriterCore {
  // Without the GIL, so that who waits for another thread's work does not keep that one from ending it.
  template <class Work>
  auto alone(const Work& work) {
    const Released unlocked;
    const std::lock_guard lock(mutex_);
    return work();
  }

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
    Chunk chunk = std::exchange(spare_, {});
    fill(streams_, columns, chunk);
    const auto rows = static_cast<std::uint32_t>(chunk.columns.front().first_sample.size() - 1);
    alone([&] {
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::string_view key = keys.empty() ? std::string_view() : std::string_view(keys.at(row));
        text_ ? text_->append(chunk, row, key) : binary_->append(chunk, row, key);
      }
    });
    spare_ = std::move(chunk);
  }
  void commit() {
    alone([&] { text_ ? text_->commit() : binary_->commit(); });
  }
  std::uint64_t sequences() {
    return alone([&] { return text_ ? text_->sequences() : binary_->sequences(); });
  }
  std::uint64_t samples() {
    return alone([&] { return text_ ? text_->samples() : binary_->samples(); });
  }

 private:
  std::vector<StreamInfo> streams_;
  std::mutex mutex_;  // of both writers
  std::optional<CtfWriter> text_;
  std::optional<CbfWriter> binary_;
  Chunk spare_;  // its memory is used again; with the GIL held
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
