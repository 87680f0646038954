// SPDX-License-Identifier: MIT
//
// A source written in Python. The reader's threads call it; what it raises
// arrives at its place in the stream, as it was raised.
#include <batchfeed/source.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "columns.h"

namespace batchfeed::python {

namespace {

class PythonSource final : public Source {
 public:
  using Table = nb::ndarray<const std::uint64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

  // `tables`: for each chunk (key, samples) of its sequences. `read`: the columns of a chunk.
  PythonSource(std::vector<StreamInfo> streams, const std::vector<Table>& tables, nb::handle read)
      : streams_(std::move(streams)), read_(read) {
    for (const Table& given : tables) {
      ChunkInfo& info = chunks_.emplace_back();
      std::vector<SequenceInfo>& table = tables_.emplace_back();
      for (std::size_t row = 0; row < given.shape(0); ++row) {
        const std::uint64_t* const pair = given.data() + 2 * row;
        info.samples += pair[1];
        if (pair[1] != 0)
          table.push_back({pair[0], static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(pair[1])});
      }
      info.sequences = table.size();
      std::uint64_t dims = 0;
      for (const StreamInfo& s : streams_) dims += s.storage == Storage::dense ? s.dim * size_of(s.element) : 8;
      info.bytes = info.samples * dims;
    }
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { out = tables_[chunk]; }

  const Held& held() const noexcept { return read_; }

  void read(std::uint32_t chunk, Chunk& out) const override {
    const Acquired gil;
    const Held::Call call(read_);
    try {
      fill(streams_, call.function()(chunk), out);
    } catch (const nb::python_error& error) {
      rethrow(error, &read_);
    }
  }

 private:
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
  std::vector<std::vector<SequenceInfo>> tables_;
  Held read_;
};

}  // namespace

const Held* held_in(const Source& source) {
  const auto* own = dynamic_cast<const PythonSource*>(&source);
  return own == nullptr ? nullptr : &own->held();
}

void bind_source(nb::module_& m) {
  nb::class_<PythonSource, Source>(m, "PythonSource")
      .def(nb::init<std::vector<StreamInfo>, const std::vector<PythonSource::Table>&, nb::handle>(), "streams"_a,
           "tables"_a, "read"_a);
}

}  // namespace batchfeed::python
