// SPDX-License-Identifier: MIT
//
// Python objects that the library holds: functions it calls, sources it reads.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gil.h"

namespace batchfeed::python {

namespace nb = nanobind;

// A Python object that threads without the GIL may hold, copy and drop. Python's collector of
// cycles does not see it unless an object that it does see calls traverse(), as a reader does
// for its own.
class Held {
 public:
  explicit Held(nb::handle object) : slot_(std::make_shared<Slot>(object)) {}

  // All of these need the GIL.
  nb::handle get() const noexcept { return slot_->object; }
  // Sets the reader it belongs to, for Call, by a number that no other reader has.
  void belongs_to(std::uint64_t reader) const noexcept { slot_->reader = reader; }
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(slot_->object);
    for (const std::shared_ptr<Slot>& one : slot_->raised) Py_VISIT(one->object);
    return 0;
  }
  void let_go() const {  // drops the object and its exceptions, once nobody asks for them any more
    for (const std::shared_ptr<Slot>& one : std::exchange(slot_->raised, {})) one->let_go();
    slot_->let_go();
  }
  // Notes an exception that the object raised, for traverse(): it is kept to be raised again, and refers to the frames
  // it passed.
  void has_raised(const Held& exception) const {
    std::erase_if(slot_->raised, [](const std::shared_ptr<Slot>& one) { return one.use_count() == 1; });
    slot_->raised.push_back(exception.slot_);
  }

  // Lives while the object is called. The reader it belongs to waits for the answer, so that this thread must not call
  // that reader: see is_of().
  class Call {
   public:
    explicit Call(const Held& held) : function_(nb::borrow(held.get())), reader_(held.slot_->reader) {
      innermost = this;
    }
    ~Call() { innermost = outer_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    const nb::object& function() const noexcept { return function_; }
    static bool is_of(std::uint64_t reader) noexcept {
      const Call* call = innermost;
      while (call != nullptr && call->reader_ != reader) call = call->outer_;
      return call != nullptr;
    }

   private:
    inline static thread_local const Call* innermost = nullptr;
    const Call* outer_ = innermost;
    nb::object function_;
    std::uint64_t reader_;
  };

 private:
  struct Slot {
    explicit Slot(nb::handle given) : object(given.inc_ref().ptr()) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      const End::Asking here;
      if (Py_IsInitialized() == 0 || End::for_this_thread()) return;
      const Acquired gil;
      Py_DECREF(object);
    }
    void let_go() { const nb::object gone = nb::steal(std::exchange(object, nb::none().release().ptr())); }

    PyObject* object;
    std::uint64_t reader = 0;
    std::vector<std::shared_ptr<Slot>> raised;
  };
  std::shared_ptr<Slot> slot_;
};

}  // namespace batchfeed::python
