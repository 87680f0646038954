// SPDX-License-Identifier: MIT
//
// A minibatch as Python holds it.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace batchfeed::python {

namespace nb = nanobind;

// What all minibatches of a reader have in common.
struct Origin {
  std::shared_ptr<const Source> source;                // knows the keys, where the minibatch does not
  nb::object batch_type, stream_type;                  // Python's Batch and Stream, made of BatchData and StreamData
  nb::tuple names;                                     // of the streams
  std::function<void(std::uint64_t)> never_came = {};  // the minibatch of that number; while there is a reader
};

// Python raises an interrupt behind the function that hands a minibatch out, and drops what that returned. So one that
// is destroyed while an exception is raised, and was never looked at, has not reached the caller: the reader is told.
class BatchData {
 public:
  BatchData(std::shared_ptr<Minibatch> batch, std::shared_ptr<const Origin> from, std::uint64_t number)
      : origin(std::move(from)), batch_(std::move(batch)), number_(number) {}
  BatchData(BatchData&&) = default;
  BatchData& operator=(BatchData&&) = delete;
  ~BatchData() {
    if (batch_ && !seen_ && origin->never_came && PyErr_Occurred() != nullptr) origin->never_came(number_);
  }

  const std::shared_ptr<Minibatch>& look() {
    seen_ = true;
    return batch_;
  }

  std::uint64_t number() const noexcept { return number_; }

  std::shared_ptr<const Origin> origin;
  nb::object streams = {};  // {name: Stream}, once it was asked for
  nb::object keys = {};     // a list of texts, where there is no source to ask

 private:
  std::shared_ptr<Minibatch> batch_;
  std::uint64_t number_;  // among its reader's
  bool seen_ = false;
};

// An instance of `type`, a Python class derived from the bound T, holding `value`; __init__ is not called.
template <class T>
nb::object make(nb::handle type, T value) {
  nb::object out = nb::inst_alloc(type);
  new (nb::inst_ptr<T>(out)) T(std::move(value));
  nb::inst_mark_ready(out);
  return out;
}

}  // namespace batchfeed::python
