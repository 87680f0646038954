// SPDX-License-Identifier: MIT
//
// Minibatches and their streams. Arrays are views of the minibatch's own
// memory: each keeps the stream it came from alive, and that the minibatch.
#include "bind_batch.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "arrays.h"
#include "bindings.h"
#include "columns.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

// One stream of a minibatch, with what the buffer protocol needs to point at.
struct StreamData {
  StreamData(std::shared_ptr<Minibatch> from, std::size_t i) : batch(std::move(from)), stream(&batch->streams[i]) {
    const auto dim = static_cast<Py_ssize_t>(stream->dim);
    const auto each = static_cast<Py_ssize_t>(size_of(stream->element));
    shape = {static_cast<Py_ssize_t>(stream->samples()), dim};
    strides = {dim * each, each};
  }

  std::size_t samples() const noexcept { return static_cast<std::size_t>(shape[0]); }

  std::shared_ptr<Minibatch> batch;
  StreamBatch* stream;  // whose samples() is no more than its last offset, to which Python may write
  std::array<Py_ssize_t, 2> shape, strides;
};

const char* format_of(Element element) { return element == Element::f32 ? "f" : "d"; }

// Moves a view out, to be owned by the arrays made of it.
template <class View>
std::pair<View*, nb::capsule> keep(View view) {
  auto owned = std::make_unique<View>(std::move(view));
  View* at = owned.get();
  nb::capsule owner(at, [](void* p) noexcept { delete static_cast<View*>(p); });
  static_cast<void>(owned.release());
  return {at, owner};
}

template <class View, class Make>
std::pair<View*, nb::capsule> made(const Make& make) {
  View view;
  {
    const Released unlocked;
    view = make();
  }
  return keep(std::move(view));
}

int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  const StreamData& self = *nb::inst_ptr<StreamData>(object);
  StreamBatch& stream = *self.stream;
  if (stream.storage == Storage::sparse) {  // NumPy then asks __array__
    PyErr_SetString(PyExc_BufferError, "the stream is sparse: csr(), or numpy() to make it dense");
    return -1;
  }
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self.shape[0] > 1 && self.shape[1] > 1) {
    PyErr_SetString(PyExc_BufferError, "the stream's samples lie one after the other, not in Fortran's order");
    return -1;
  }
  const auto each = static_cast<Py_ssize_t>(size_of(stream.element));
  view->buf = stream.values.data();
  view->obj = nb::handle(object).inc_ref().ptr();
  view->len = self.shape[0] * self.strides[0];
  view->itemsize = each;
  view->readonly = 0;
  view->ndim = 2;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(stream.element)) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? const_cast<Py_ssize_t*>(self.shape.data()) : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? const_cast<Py_ssize_t*>(self.strides.data()) : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

PyType_Slot kStreamSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

StreamData& of(nb::handle self) { return *nb::inst_ptr<StreamData>(self); }

// Whether nothing points out of a stream of so many samples.
bool stays_inside(const StreamBatch& stream, std::size_t samples) {
  const auto rises_to = [](const auto& places, std::size_t n) {
    if (places.empty()) return n == 0;
    return places[0] == 0 && static_cast<std::uint64_t>(places.back()) == n &&
           std::is_sorted(places.begin(), places.end());
  };
  if (!rises_to(stream.offsets, samples)) return false;
  const Layout& layout = stream.layout;
  for (std::size_t e = 0; e < layout.sequences; ++e) {
    const LayoutEntry& entry = layout.entries[e];
    const std::int64_t last = std::max<std::int64_t>(entry.begin, 0) + (stream.offsets[e + 1] - stream.offsets[e]);
    if (entry.row >= layout.rows || last > std::int64_t{layout.steps}) return false;
  }
  if (stream.storage == Storage::dense) return true;
  std::uint32_t most = 0;  // a negative one is larger than any
  for (const std::int32_t i : stream.indices) most = std::max(most, static_cast<std::uint32_t>(i));
  return rises_to(stream.sample_begin, stream.indices.size()) &&
         (stream.indices.empty() || most < std::min<std::uint64_t>(stream.dim, std::uint64_t{1} << 31));
}

// A stream whose data are about to be looked up: Python may have written to its arrays.
const StreamBatch& checked(nb::handle self) {
  const StreamBatch& s = *of(self).stream;
  if (stays_inside(s, of(self).samples())) return s;
  throw Error(
      Fault{.kind = FaultKind::usage,
            .id = "minibatch.out-of-bounds",
            .what = "stream '" + s.name + "': what was written to its offsets or indices points out of its data",
            .hint = "write to copies of them",
            .stream = s.name});
}

// Whether the indices of each sample of a sparse stream rise, so that none stands twice.
bool rises(nb::handle self) {
  const StreamBatch& s = checked(self);
  const std::int64_t* const begin = s.sample_begin.data();
  const std::int32_t* const indices = s.indices.data();
  const std::size_t samples = s.storage == Storage::sparse ? of(self).samples() : 0;
  bool out = true;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t i = begin[sample] + 1; i < begin[sample + 1]; ++i) out &= indices[i - 1] < indices[i];
  }
  return out;
}

nb::object values(nb::handle self) {
  StreamBatch& s = *of(self).stream;
  if (s.storage == Storage::sparse) return array(s.values.data(), s.element, {s.indices.size()}, self);
  return array(s.values.data(), s.element, {of(self).samples(), s.dim}, self);
}

nb::tuple padded(nb::handle self) {
  const StreamBatch& s = checked(self);
  auto [view, owner] = made<PaddedView>([&] { return s.padded(); });
  return nb::make_tuple(array(view->values.data(), s.element, {view->sequences, view->steps, view->dim}, owner),
                        array(reinterpret_cast<bool*>(view->mask.data()), {view->sequences, view->steps}, owner));
}

nb::object cntk_dense(nb::handle self) {
  const StreamBatch& s = checked(self);
  auto [view, owner] = made<CntkDenseView>([&] { return s.cntk_dense(); });
  return array(view->values.data(), s.element, {view->columns, view->dim}, owner);
}

nb::tuple cntk_sparse(nb::handle self) {
  const StreamBatch& s = checked(self);
  auto [view, owner] = made<CntkSparseView>([&] { return s.cntk_sparse(); });
  return nb::make_tuple(array(view->values.data(), s.element, {view->indices.size()}, owner),
                        array(view->indices.data(), {view->indices.size()}, owner),
                        array(view->columns.data(), {view->columns.size()}, owner));
}

// (sequence, row, begin, end); a gap's sequence is None.
nb::list entries(const StreamData& self) {
  nb::list out;
  for (const LayoutEntry& e : self.stream->layout.entries) {
    nb::object sequence = nb::none();
    if (e.sequence != LayoutEntry::kGap) sequence = nb::int_(e.sequence);
    out.append(nb::make_tuple(sequence, e.row, e.begin, e.end));
  }
  return out;
}

nb::object streams(BatchData& self) {
  if (!self.streams) {
    nb::dict out;
    const std::shared_ptr<Minibatch>& batch = self.look();
    for (std::size_t i = 0; i < batch->streams.size(); ++i)
      out[self.origin->names[i]] = make(self.origin->stream_type, StreamData(batch, i));
    self.streams = std::move(out);
  }
  return self.streams;
}

nb::list key_texts(BatchData& self) {
  if (self.keys) return nb::list(self.keys);
  nb::list out;
  for (const std::uint64_t key : self.look()->keys) {
    std::string text;
    {
      const Released unlocked;  // a source may be written in Python, or wait for a file
      text = self.origin->source->key_text(key);
    }
    out.append(to_str(text));
  }
  return out;
}

// What Stream._parts() in Python has made a tuple of.
StreamBatch stream_of(const nb::tuple& parts) {
  StreamBatch out;
  out.name = to_string(parts[0]);
  out.storage = nb::cast<Storage>(parts[1]);
  out.element = nb::cast<Element>(parts[2]);
  out.dim = nb::cast<std::uint64_t>(parts[3]);
  out.layout.rows = nb::cast<std::uint32_t>(parts[4]);
  out.layout.steps = nb::cast<std::uint32_t>(parts[5]);
  for (const nb::handle entry : nb::cast<nb::list>(parts[6])) {
    const bool gap = entry[0].is_none();
    out.layout.entries.push_back({gap ? LayoutEntry::kGap : nb::cast<std::uint32_t>(entry[0]),
                                  nb::cast<std::uint32_t>(entry[1]), nb::cast<std::int64_t>(entry[2]),
                                  nb::cast<std::int64_t>(entry[3])});
    out.layout.sequences += gap ? 0u : 1u;
  }
  fill(parts[7], parts[8], parts[9], parts[10], out);
  const bool sparse = out.storage == Storage::sparse;
  const std::uint64_t values = sparse ? out.indices.size() : out.samples() * out.dim;
  if (out.offsets.size() != out.layout.sequences + 1 || out.values.size() != values * size_of(out.element) ||
      (sparse && out.sample_begin.size() != out.samples() + 1) || !stays_inside(out, out.samples()))
    throw nb::value_error("these are not the parts of a stream");
  return out;
}

// A minibatch that no reader made: one that was pickled.
nb::object batch_of(nb::object batch_type, nb::object stream_type, const nb::tuple& about, nb::list keys,
                    const nb::list& streams) {
  const auto batch = std::make_shared<Minibatch>();
  batch->epoch = nb::cast<std::uint64_t>(about[0]);
  batch->index = nb::cast<std::uint64_t>(about[1]);
  batch->position = nb::cast<std::uint64_t>(about[2]);
  batch->end_of_epoch = nb::cast<bool>(about[3]);
  batch->end_of_sweep = nb::cast<bool>(about[4]);
  batch->num_samples = nb::cast<std::uint64_t>(about[5]);
  batch->num_sequences = nb::cast<std::uint64_t>(about[6]);
  batch->invalid = nb::cast<std::uint64_t>(about[7]);
  nb::list names;
  for (const nb::handle parts : streams) {
    batch->streams.push_back(stream_of(nb::cast<nb::tuple>(parts)));
    names.append(parts[0]);
  }
  const nb::object type = batch_type;
  const auto origin =
      std::make_shared<const Origin>(Origin{nullptr, std::move(batch_type), std::move(stream_type), nb::tuple(names)});
  BatchData out(batch, origin, 0);
  out.keys = std::move(keys);
  return make(type, std::move(out));
}

#define BATCHFEED_ARRAY(name) "def " name "(self) -> numpy.typing.NDArray[typing.Any]"

void bind_stream(nb::module_& m) {
  nb::class_<StreamData>(m, "StreamData", nb::type_slots(kStreamSlots), nb::is_weak_referenceable())
      .def_prop_ro("name", [](const StreamData& s) { return to_str(s.stream->name); })
      .def_prop_ro("dim", [](const StreamData& s) { return s.stream->dim; })
      .def_prop_ro("storage", [](const StreamData& s) { return s.stream->storage; })
      .def_prop_ro(
          "is_sparse", [](const StreamData& s) { return s.stream->storage == Storage::sparse; },
          "Whether samples are pairs of index and value: csr() then, and values and indices of all of them in a row.")
      .def_prop_ro("element", [](const StreamData& s) { return s.stream->element; })
      .def_prop_ro("num_samples", &StreamData::samples)
      .def_prop_ro("num_sequences", [](const StreamData& s) { return s.stream->layout.sequences; })
      .def_prop_ro("rows", [](const StreamData& s) { return s.stream->layout.rows; })
      .def_prop_ro("steps", [](const StreamData& s) { return s.stream->layout.steps; })
      .def_prop_ro("entries", &entries, nb::sig("def entries(self) -> list[tuple[int | None, int, int, int]]"))
      .def_prop_ro("values", &values, nb::sig(BATCHFEED_ARRAY("values")))
      .def_prop_ro(
          "indices",
          [](nb::handle self) {
            StreamBatch& s = *of(self).stream;
            return array(s.indices.data(), {s.indices.size()}, self);
          },
          nb::sig(BATCHFEED_ARRAY("indices")))
      .def_prop_ro(
          "indptr",
          [](nb::handle self) {
            StreamBatch& s = *of(self).stream;
            return array(s.sample_begin.data(), {s.sample_begin.size()}, self);
          },
          nb::sig(BATCHFEED_ARRAY("indptr")))
      .def_prop_ro(
          "offsets",
          [](nb::handle self) {
            StreamBatch& s = *of(self).stream;
            return array(s.offsets.data(), {s.offsets.size()}, self);
          },
          nb::sig(BATCHFEED_ARRAY("offsets")))
      .def("expect_inside", [](nb::handle self) { checked(self); })
      .def("rises", &rises, nb::sig("def rises(self) -> bool"))
      .def("make_padded", &padded,
           nb::sig(
               "def make_padded(self) -> tuple[numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[numpy.bool_]]"))
      .def("make_cntk_dense", &cntk_dense, nb::sig(BATCHFEED_ARRAY("make_cntk_dense")))
      .def("make_cntk_sparse", &cntk_sparse,
           nb::sig("def make_cntk_sparse(self) -> tuple[numpy.typing.NDArray[typing.Any], "
                   "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64]]"));
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<BatchData>(m, "BatchData", nb::is_weak_referenceable())
      .def_prop_ro("streams", &streams, nb::sig("def streams(self) -> dict[str, typing.Any]"), "{name: Stream}")
      .def_prop_ro(
          "epoch", [](BatchData& b) { return b.look()->epoch; }, "The number of its epoch, from 0.")
      .def_prop_ro(
          "index", [](BatchData& b) { return b.look()->index; }, "Its number within the epoch, from 0.")
      .def_prop_ro(
          "position", [](BatchData& b) { return b.look()->position; },
          "Samples that all workers have been given up to its end.")
      .def_prop_ro(
          "end_of_epoch", [](BatchData& b) { return b.look()->end_of_epoch; }, "Whether it is the last of its epoch.")
      .def_prop_ro(
          "end_of_sweep", [](BatchData& b) { return b.look()->end_of_sweep; },
          "Whether a sweep over the corpus ends in it.")
      .def_prop_ro(
          "num_samples", [](BatchData& b) { return b.look()->num_samples; },
          "Samples of this worker, by the nominal length of its sequences.")
      .def_prop_ro(
          "num_sequences", [](BatchData& b) { return b.look()->num_sequences; }, "Sequences of this worker.")
      .def_prop_ro(
          "invalid", [](BatchData& b) { return b.look()->invalid; },
          "Sequences that were left out of it because they are damaged.")
      .def_prop_ro("sequence_keys", &key_texts, nb::sig("def sequence_keys(self) -> list[str]"),
                   "The key of each sequence, as text.");
  bind_stream(m);
  m.def("batch_of", &batch_of, "batch_type"_a, "stream_type"_a, "about"_a, "keys"_a, "streams"_a,
        nb::sig(
            "def batch_of(batch_type: type, stream_type: type, about: tuple[int, int, int, bool, bool, int, int, int], "
            "keys: list[str], streams: list[tuple[typing.Any, ...]]) -> typing.Any"));
}

}  // namespace batchfeed::python
