// SPDX-License-Identifier: MIT
//
// A minibatch as Python holds it.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace batchfeed::python {

namespace nb = nanobind;

// What all minibatches of a reader have in common.
struct Origin {
  std::shared_ptr<const Source> source;  // knows the keys, where the minibatch does not
  nb::object batch_type, stream_type;    // Python's Batch and Stream, made of BatchData and StreamData
  nb::tuple names;                       // of the streams
};

struct BatchData {
  std::shared_ptr<Minibatch> batch;
  std::shared_ptr<const Origin> origin;
  nb::object streams = {};  // {name: Stream}, once it was asked for
  nb::object keys = {};     // a list of texts, where there is no source to ask
};

// An instance of a type made in Python of one that is bound, not by way of its __init__.
template <class T>
nb::object make(nb::handle type, T value) {
  nb::object out = nb::inst_alloc(type);
  new (nb::inst_ptr<T>(out)) T(std::move(value));
  nb::inst_mark_ready(out);
  return out;
}

}  // namespace batchfeed::python
