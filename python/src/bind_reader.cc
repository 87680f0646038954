// SPDX-License-Identifier: MIT
//
// The reader. Whatever may take time runs without the GIL and, where it waits,
// looks at signals.
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "bind_batch.h"
#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

// One consumer at a time: the reader is not thread-safe, and a thread that
// waits here has let go of the GIL.
class ReaderCore {
 public:
  explicit ReaderCore(const Setup& setup) {
    const nb::gil_scoped_release unlocked;
    reader_.emplace(setup);
    source_ = reader_->shared_source();
  }
  ~ReaderCore() { close(); }

  void close() {
    // Its threads may be about to call a source written in Python.
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    reader_.reset();
    pool_ = std::make_shared<Pool>();
  }

  // `all`: also the answers without data.
  std::optional<BatchData> next(bool all) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    Reader& reader = open();
    while (!reader.wait(std::chrono::milliseconds(50))) check_signals();
    std::unique_ptr<Minibatch> batch = pool_->take();
    if (!(all ? reader.read(*batch) : reader.next(*batch))) return std::nullopt;
    return BatchData{pool_->share(std::move(batch)), source_};
  }

  template <class Work>
  auto with(const Work& work) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    return work(open());
  }

  const std::shared_ptr<const Source>& source() const noexcept { return source_; }

 private:
  Reader& open() {
    if (reader_) return *reader_;
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.closed",
                      .what = "the reader is closed",
                      .hint = "open another one; load_state_dict() goes on where this one was"});
  }

  std::mutex mutex_;
  std::shared_ptr<const Source> source_;
  std::optional<Reader> reader_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
};

nb::object next(ReaderCore& self, bool all) {
  std::optional<BatchData> batch = self.next(all);
  return batch ? nb::cast(std::move(*batch)) : nb::none();
}

// A list of (chunk, row, key, samples, frame or None, corpus) for each minibatch.
nb::list plan(ReaderCore& self, std::uint64_t minibatches) {
  const std::vector<BatchPlan> plans = self.with([&](Reader& reader) { return reader.plan(minibatches); });
  nb::list out;
  for (const BatchPlan& batch : plans) {
    nb::list items;
    for (const BatchPlan::Item& i : batch.items) {
      nb::object frame = nb::none();
      if (i.frame) frame = nb::int_(*i.frame);
      items.append(nb::make_tuple(i.chunk, i.row, to_str(self.source()->key_text(i.key)), i.samples, frame, i.corpus));
    }
    out.append(nb::make_tuple(items, batch.position, batch.end_of_epoch, batch.end_of_sweep));
  }
  return out;
}

}  // namespace

void bind_reader(nb::module_& m) {
  nb::class_<Padding>(m, "Padding")
      .def_ro("samples", &Padding::samples)
      .def_ro("cells", &Padding::cells)
      .def_ro("unbucketed", &Padding::unbucketed)
      .def_prop_ro("saved", &Padding::saved);
  nb::class_<ReaderCore>(m, "ReaderCore", nb::is_weak_referenceable())
      .def(nb::init<const Setup&>(), "setup"_a)
      .def("close", &ReaderCore::close)
      .def("next", &next, "all"_a, nb::sig("def next(self, all: bool) -> BatchData | None"))
      .def_prop_ro("streams",
                   [](ReaderCore& c) { return c.with([](Reader& r) { return std::vector<StreamInfo>(r.streams()); }); })
      .def_prop_ro("options",
                   [](ReaderCore& c) { return c.with([](Reader& r) { return ReaderOptions(r.options()); }); })
      .def_prop_ro("num_samples", [](ReaderCore& c) { return c.with([](Reader& r) { return r.num_samples(); }); })
      .def_prop_ro("num_sequences", [](ReaderCore& c) { return c.with([](Reader& r) { return r.num_sequences(); }); })
      .def_prop_ro("memory_needed", [](ReaderCore& c) { return c.with([](Reader& r) { return r.memory_needed(); }); })
      .def_prop_ro("memory_held", [](ReaderCore& c) { return c.with([](Reader& r) { return r.memory_held(); }); })
      .def_prop_ro("skipped", [](ReaderCore& c) { return c.with([](Reader& r) { return r.skipped(); }); })
      .def_prop_ro("invalid", [](ReaderCore& c) { return c.with([](Reader& r) { return r.invalid(); }); })
      .def_prop_ro("padding", [](ReaderCore& c) { return c.with([](Reader& r) { return r.padding(); }); })
      .def_prop_ro("remaining", [](ReaderCore& c) { return c.with([](Reader& r) { return r.remaining(); }); })
      .def("describe", [](ReaderCore& c) { return c.with([](Reader& r) { return describe(r.source()); }); })
      .def("begin_epoch", [](ReaderCore& c, std::uint64_t epoch) { c.with([&](Reader& r) { r.begin_epoch(epoch); }); })
      .def("set_workers", [](ReaderCore& c, std::uint64_t workers,
                             std::uint64_t rank) { c.with([&](Reader& r) { r.set_workers(workers, rank); }); })
      .def("set_minibatch_size",
           [](ReaderCore& c, std::uint64_t size) { c.with([&](Reader& r) { r.set_minibatch_size(size); }); })
      .def("state", [](ReaderCore& c) { return c.with([](Reader& r) { return r.state(); }); })
      .def("restore", [](ReaderCore& c, const std::string& state) { c.with([&](Reader& r) { r.restore(state); }); })
      .def("plan", &plan,
           nb::sig("def plan(self, minibatches: int) -> "
                   "list[tuple[list[tuple[int, int, str, int, int | None, int]], int, bool, bool]]"));
}

}  // namespace batchfeed::python
