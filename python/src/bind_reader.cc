// SPDX-License-Identifier: MIT
//
// The reader, and the loops over it. Whatever may take time runs without the GIL
// and, where it waits, looks at signals. A minibatch that is at hand takes less
// than letting go of the GIL would.
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind_batch.h"
#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

std::uint64_t forks = 0;  // on the way to this process

// Where a reader is, for its loops and its length.
struct Place {
  std::uint64_t epoch = 0;
  std::uint64_t read = 0;  // minibatches of this epoch
  bool over = false;       // the epoch is
};

// The library's reader is not thread-safe, and a thread that waits here has let go of
// the GIL: one at a time has the lock, and tells afterwards how far it came.
class ReaderCore : public Place {
 public:
  ReaderCore(Setup& setup, nb::object batch_type, nb::object stream_type) : held_(held_by(setup)) {
    for (const Held& one : held_) one.belongs_to(number_);
    {
      const Released unlocked;
      reader_.emplace(setup);
    }
    nb::list names;
    for (const StreamInfo& stream : reader_->streams()) names.append(to_str(stream.name));
    origin_ = std::make_shared<Origin>(Origin{reader_->shared_source(), std::move(batch_type), std::move(stream_type),
                                              nb::tuple(names), [this](std::uint64_t number) { never_came(number); }});
    epoch = reader_->options().start_epoch;
  }
  ~ReaderCore() {
    origin_->never_came = {};
    end();
  }

  void close() {
    expect_idle();
    const Released unlocked;
    shut();
  }

  // Closes it, and lets go of what it holds of Python: minibatches that are left, and know its sources, do not ask
  // them.
  void end() {
    // A function of Python's that its own threads call may let go of the reader last: they cannot wait for themselves.
    if (reader_ && Held::Call::is_of(number_)) {
      auto* const gone = new Reader(std::move(*reader_));
      reader_.reset();
      try {
        std::thread([gone] { delete gone; }).detach();
      } catch (const std::system_error&) {  // no thread to be had: it stays
      }
    } else {
      const Released unlocked;
      shut();
    }
    for (const Held& one : held_) one.let_go();
  }

  // For Python's collector of cycles.
  int traverse(visitproc visit, void* arg) const {
    for (const Held& one : held_) {
      if (const int stop = one.traverse(visit, arg); stop != 0) return stop;
    }
    return 0;
  }

  // What it calls itself cannot ask it: it waits for the answer.
  void expect_idle() const {
    if (!Held::Call::is_of(number_)) return;
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.busy",
                      .what = "the reader is waiting for the function that calls it here",
                      .hint = "call it outside of report, progress and the read() of its sources"});
  }

  // The next minibatch, or None; `all`: also the answers without data.
  nb::object next(bool all) {
    if (failed) std::rethrow_exception(std::exchange(failed, nullptr));
    expect_idle();
    if (!all) {
      if (nb::object batch = next_at_hand()) return batch;
    }
    auto batch = std::make_shared<Minibatch>();
    bool given = false;
    std::uint64_t number = 0;
    {
      const Released unlocked;
      const auto lock = await(*batch, all);
      Reader& reader = open();
      try {
        given = all ? reader.read(*batch) : reader.next(*batch);
      } catch (const Raised& raised) {
        // Ctrl-C in a source, and the like, is nothing of the data: the next call reads on.
        if (!raised.is_of_data()) reader.restore(reader.state());
        throw;
      }
      number = ++answers_;
    }
    if (!given) batch.reset();
    return hand_out(std::move(batch), all, number);
  }

  // The same as next(false), but without letting go of the GIL; nothing if it is not at hand. A signal that has come
  // is looked at before it is taken.
  nb::object next_at_hand() {
    if (Held::Call::is_of(number_) || forked()) return {};
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !reader_ || lost_ != 0 || !reader_->at_hand()) return {};
    auto batch = std::make_shared<Minibatch>();
    if (!reader_->next(*batch)) batch.reset();
    return hand_out(std::move(batch), false, ++answers_);
  }

  bool forked() const noexcept { return forks_ != forks; }

  std::uint64_t loop = 0;     // the number of the loop that is under way; 0: none
  std::exception_ptr failed;  // what next() is to throw

  template <class Work>
  auto with(const Work& work) {
    expect_idle();
    const Released unlocked;
    const auto lock = locked();
    return work(open());
  }

  // The same, to another place: what was handed out before and gets lost is not the next one there.
  template <class Work>
  void move(const Work& work) {
    with(work);
    handed_out_ = 0;
  }

  // A minibatch that this reader handed out is the next one again, as who was given it was interrupted.
  void give_back(BatchData& batch) {
    static_cast<void>(batch.look());  // it does not tell the same at its end
    if (batch.origin == origin_) never_came(batch.number());
  }

  const Source& source() const noexcept { return *origin_->source; }

 private:
  static std::vector<Held> held_by(Setup& setup) {
    std::vector<Held> out;
    const auto add = [&](const Held* one) {
      if (one != nullptr) out.push_back(*one);
    };
    add(held_in(setup.report));
    add(held_in(setup.progress));
    for (const SourceOptions* const options : sources_of(setup)) {
      const auto* own = std::get_if<std::shared_ptr<const Source>>(options);
      if (own != nullptr && *own) add(held_in(**own));
    }
    return out;
  }

  // Its threads may be about to call a source written in Python: without the GIL.
  void shut() {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!forked()) lock.lock();  // in a child who held it may not exist
    reader_.reset();
  }

  struct Waiting {
    explicit Waiting(std::atomic<int>& count) : threads(count) { ++threads; }
    ~Waiting() { --threads; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::atomic<int>& threads;
  };

  // With the lock, and the next minibatch ready. Signals that came meanwhile are looked at before it is taken, so that
  // Ctrl-C leaves the reader where it was; and without the lock, as who handles them may ask the reader where that is.
  std::unique_lock<std::mutex> await(Minibatch& batch, bool all) {
    using std::chrono::steady_clock, std::chrono::milliseconds;
    const Waiting here(waiting_);
    for (;;) {
      const steady_clock::time_point begin = steady_clock::now();
      auto lock = locked();
      if (open().wait(milliseconds(50), batch, all) && steady_clock::now() - begin < milliseconds(1)) return lock;
      lock.unlock();
      check_signals();
    }
  }

  nb::object hand_out(std::shared_ptr<Minibatch> batch, bool all, std::uint64_t number) {
    const bool newest = number > handed_out_;  // another thread may have come here first
    if (newest) {
      handed_out_ = number;
      before_ = *this;
      over = !batch || (all && batch->end_of_epoch);
    }
    if (!batch) return nb::none();
    if (newest) {
      epoch = batch->epoch;
      read = batch->index + 1;
    }
    return make(origin_->batch_type, BatchData(std::move(batch), origin_, number));
  }

  // A minibatch that was handed out has got lost on the way (BatchData), and is the next one again. Not where another
  // thread has been given one behind it; and once only where an error of data is raised, which is that of a function
  // that did not look, as in map(f, reader), and would be raised for ever.
  void never_came(std::uint64_t number) noexcept {
    if (number != handed_out_ || (number == again_ && PyErr_ExceptionMatches(PyExc_Exception) != 0)) return;
    static_cast<Place&>(*this) = before_;
    lost_ = number;
  }

  // In a forked child a thread that held it is gone, and nobody knows how far it came.
  std::unique_lock<std::mutex> locked() {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!forked()) {
      lock.lock();
    } else if (waiting_ != 0 || !lock.try_lock()) {
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "reader.forked-while-read",
                        .what = "another thread was reading when this process was forked",
                        .hint = "fork where none reads, or open a reader in the child and load_state_dict() there"});
    }
    return lock;
  }

  Reader& open() {
    if (reader_) {
      if (const std::uint64_t lost = lost_.exchange(0); lost != 0 && lost == answers_) {
        reader_->take_back();
        again_ = answers_ + 1;
      }
      return *reader_;
    }
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.closed",
                      .what = "the reader is closed",
                      .hint = "open another one; load_state_dict() goes on where this one was"});
  }

  static inline std::uint64_t readers = 0;  // so far; with the GIL held

  std::uint64_t forks_ = forks;  // where it was opened
  const std::uint64_t number_ = ++readers;
  const std::vector<Held> held_;  // what its threads call; nobody else shows it to the collector of cycles
  std::mutex mutex_;
  std::atomic<int> waiting_ = 0;  // threads, for a minibatch: with the lock or between two looks
  std::optional<Reader> reader_;
  std::uint64_t answers_ = 0;             // of reader_; with the lock held
  std::uint64_t handed_out_ = 0;          // the newest of them; with the GIL held
  Place before_;                          // that one
  std::atomic<std::uint64_t> lost_ = 0;   // that one, and reader_ does not know yet; 0: it is not
  std::atomic<std::uint64_t> again_ = 0;  // the answer that was lost once
  std::shared_ptr<Origin> origin_;
};

// A loop over an epoch. Reader._step knows what to do where it is not simply under way.
struct Loop {
  nb::object reader;         // a Reader
  nb::object core;           // its ReaderCore, once the loop is under way
  std::uint64_t number = 0;  // then; 0 before
  bool over = false;
};

nb::object give(nb::handle self) {
  const Loop& loop = *nb::inst_ptr<Loop>(self);
  if (loop.number == 0) return loop.reader.attr("_step")(self);
  ReaderCore& core = *nb::inst_ptr<ReaderCore>(loop.core);
  if (core.loop != loop.number || core.forked()) return loop.reader.attr("_step")(self);
  nb::object batch;
  try {
    batch = core.next_at_hand();
    if (!batch) batch = core.next(false);
  } catch (const nb::python_error&) {
    throw;
  } catch (...) {  // by way of Python, which knows what exception that is
    core.failed = std::current_exception();
    batch = loop.core.attr("next")(false);
  }
  if (batch.is_none()) core.loop = 0;
  return batch;
}

PyObject* next_of(PyObject* self) {
  Loop& loop = *nb::inst_ptr<Loop>(self);
  if (loop.over) return nullptr;
  try {
    nb::object batch = give(self);
    if (!batch.is_none()) return batch.release().ptr();
    loop.over = true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* same(PyObject* self) { return nb::handle(self).inc_ref().ptr(); }

// A reader may refer to its loop, and be known to what it calls.
int traverse_reader(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<ReaderCore>(self)->traverse(visit, arg) : 0;
}

int clear_reader(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<ReaderCore>(self)->end();
  return 0;
}

int traverse_loop(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const Loop& loop = *nb::inst_ptr<Loop>(self);
  Py_VISIT(loop.reader.ptr());
  Py_VISIT(loop.core.ptr());
  return 0;
}

int clear_loop(PyObject* self) {
  Loop& loop = *nb::inst_ptr<Loop>(self);
  loop.over = true;
  loop.reader.reset();
  loop.core.reset();
  return 0;
}

PyType_Slot kLoopSlots[] = {{Py_tp_iter, reinterpret_cast<void*>(same)},
                            {Py_tp_iternext, reinterpret_cast<void*>(next_of)},
                            {Py_tp_traverse, reinterpret_cast<void*>(traverse_loop)},
                            {Py_tp_clear, reinterpret_cast<void*>(clear_loop)},
                            {0, nullptr}};
PyType_Slot kReaderSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_reader)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_reader)},
                              {0, nullptr}};

// A list of (chunk, row, key, samples, frame or None, corpus) for each minibatch.
nb::list plan(ReaderCore& self, std::uint64_t minibatches) {
  const std::vector<BatchPlan> plans = self.with([&](Reader& reader) { return reader.plan(minibatches); });
  nb::list out;
  for (const BatchPlan& batch : plans) {
    nb::list items;
    for (const BatchPlan::Item& i : batch.items) {
      nb::object frame = nb::none();
      if (i.frame) frame = nb::int_(*i.frame);
      items.append(nb::make_tuple(i.chunk, i.row, to_str(self.source().key_text(i.key)), i.samples, frame, i.corpus));
    }
    out.append(nb::make_tuple(items, batch.position, batch.end_of_epoch, batch.end_of_sweep));
  }
  return out;
}

}  // namespace

void bind_reader(nb::module_& m) {
  static_cast<void>(pthread_atfork(nullptr, nullptr, [] {
    ++forks;
    End::forked();
  }));
  nb::class_<Padding>(
      m, "Padding",
      "Cells of padded minibatches (sequences times longest): in use, as they come, and without bucketing.")
      .def_ro("samples", &Padding::samples, "Cells in use.")
      .def_ro("cells", &Padding::cells, "Cells of the minibatches as they come.")
      .def_ro("unbucketed", &Padding::unbucketed, "Cells of minibatches in the order's own sequence.")
      .def_prop_ro("saved", &Padding::saved, "The part of the padding that is gone, 0 to 1.")
      .def("__getstate__", [](const Padding& p) { return std::make_tuple(p.samples, p.cells, p.unbucketed); })
      .def("__setstate__",
           [](Padding& p, const std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>& state) {
             const auto [samples, cells, unbucketed] = state;
             new (&p) Padding{.samples = samples, .cells = cells, .unbucketed = unbucketed};
           })
      .def(
          "__eq__",
          [](const Padding& p, nb::handle other) {
            return nb::isinstance<Padding>(other) && p == nb::cast<const Padding&>(other);
          },
          nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Padding& p) { return p.samples ^ (p.cells << 1U) ^ (p.unbucketed << 2U); })
      .def("__repr__", [](const Padding& p) {
        return "Padding(samples=" + std::to_string(p.samples) + ", cells=" + std::to_string(p.cells) +
               ", unbucketed=" + std::to_string(p.unbucketed) + ", saved=" + std::to_string(p.saved()).substr(0, 5) +
               ")";
      });
  nb::class_<ReaderCore>(m, "ReaderCore", nb::type_slots(kReaderSlots), nb::is_weak_referenceable())
      .def(nb::init<Setup&, nb::object, nb::object>(), "setup"_a, "batch_type"_a, "stream_type"_a,
           nb::sig("def __init__(self, setup: Setup, batch_type: type, stream_type: type) -> None"))
      .def("close", &ReaderCore::close)
      .def("next", &ReaderCore::next, "all"_a, nb::sig("def next(self, all: bool) -> typing.Any"))
      .def("give_back", &ReaderCore::give_back, "batch"_a)
      .def("expect_idle", &ReaderCore::expect_idle)
      .def_prop_ro("forked", &ReaderCore::forked)
      .def_rw("epoch", &ReaderCore::epoch)
      .def_rw("read", &ReaderCore::read)
      .def_rw("over", &ReaderCore::over)
      .def_rw("loop", &ReaderCore::loop)
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
      .def("remaining_of",
           [](ReaderCore& c, std::uint64_t epoch) {
             return c.with([&](Reader& r) {
               const std::string here = r.state();
               std::uint64_t minibatches = 0;
               try {
                 r.begin_epoch(epoch);
                 minibatches = r.remaining();
               } catch (...) {
                 r.restore(here);
                 throw;
               }
               r.restore(here);
               return minibatches;
             });
           })
      .def("describe", [](ReaderCore& c) { return c.with([](Reader& r) { return describe(r.source()); }); })
      .def("begin_epoch", [](ReaderCore& c, std::uint64_t epoch) { c.move([&](Reader& r) { r.begin_epoch(epoch); }); })
      .def("set_workers", [](ReaderCore& c, std::uint64_t workers,
                             std::uint64_t rank) { c.with([&](Reader& r) { r.set_workers(workers, rank); }); })
      .def("set_minibatch_size",
           [](ReaderCore& c, std::uint64_t size) { c.with([&](Reader& r) { r.set_minibatch_size(size); }); })
      .def("state", [](ReaderCore& c) { return c.with([](Reader& r) { return r.state(); }); })
      .def("restore", [](ReaderCore& c, const std::string& state) { c.move([&](Reader& r) { r.restore(state); }); })
      .def("plan", &plan,
           nb::sig("def plan(self, minibatches: int) -> "
                   "list[tuple[list[tuple[int, int, str, int, int | None, int]], int, bool, bool]]"));
  nb::class_<Loop>(m, "Loop", nb::type_slots(kLoopSlots), nb::is_final())
      .def(
          "__init__", [](Loop* self, nb::object reader) { new (self) Loop{.reader = std::move(reader), .core = {}}; },
          "reader"_a)
      .def(
          "begin",
          [](Loop& self, nb::handle_t<ReaderCore> core, std::uint64_t number) {
            self.core = nb::borrow(core);
            self.number = number;
          },
          "core"_a, "number"_a)
      .def_ro("number", &Loop::number);
}

}  // namespace batchfeed::python
