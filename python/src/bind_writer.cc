// SPDX-License-Identifier: MIT
//
// Writers of both formats behind one class.
#include <batchfeed/writer.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <memory>
#include <mutex>
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
      : path_(path), streams_(std::move(streams)) {
    if (format == Format::ctf) {
      text_ = std::make_unique<CtfWriter>(path, CtfWriterOptions{.streams = streams_, .ids = keys, .replace = replace});
    } else {
      binary_ = std::make_unique<CbfWriter>(
          path,
          CbfWriterOptions{
              .streams = streams_, .chunk_bytes = chunk_bytes, .legacy = legacy, .keys = keys, .replace = replace});
    }
  }
  WriterCore(const WriterCore&) = delete;
  WriterCore& operator=(const WriterCore&) = delete;
  // The unfinished file is not a forked child's, which would take it from under its parent.
  ~WriterCore() {
    if (pid_ == ::getpid()) return;
    static_cast<void>(text_.release());
    static_cast<void>(binary_.release());
  }

  // `keys`: as many as there are sequences, or none. Who is refused a sequence may go on, unless others of the same
  // call are written by then: given again, they would be there twice.
  void append(nb::handle columns, const std::vector<std::string>& keys) {
    Chunk chunk = std::exchange(spare_, {});
    fill(streams_, columns, chunk);
    const auto rows = static_cast<std::uint32_t>(chunk.columns.front().first_sample.size() - 1);
    alone([&] {
      expect_whole();
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::string_view key = keys.empty() ? std::string_view() : std::string_view(keys.at(row));
        torn_ = row != 0;  // if this throws
        text_ ? text_->append(chunk, row, key) : binary_->append(chunk, row, key);
      }
      torn_ = false;
    });
    spare_ = std::move(chunk);
  }
  void commit() {
    alone([&] {
      expect_whole();
      text_ ? text_->commit() : binary_->commit();
    });
  }
  std::uint64_t sequences() {
    return alone([&] { return text_ ? text_->sequences() : binary_->sequences(); });
  }
  std::uint64_t samples() {
    return alone([&] { return text_ ? text_->samples() : binary_->samples(); });
  }

 private:
  void expect_whole() const {
    if (!torn_) return;
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "writer.torn",
                      .at = {.file = path_},
                      .what = "a call was refused when some of its sequences had been written",
                      .hint = "write the file anew; what append() refuses can be left out"});
  }

  std::string path_;
  std::vector<StreamInfo> streams_;
  const ::pid_t pid_ = ::getpid();
  std::mutex mutex_;  // of all that is written
  bool torn_ = false;
  std::unique_ptr<CtfWriter> text_;  // one of both
  std::unique_ptr<CbfWriter> binary_;
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
