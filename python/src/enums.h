// SPDX-License-Identifier: MIT
//
// Enumerations are words in Python: "dense", "uniform", ...
#pragma once

#include <batchfeed/convert.h>
#include <batchfeed/options.h>
#include <batchfeed/tools.h>
#include <nanobind/nanobind.h>

#include <string_view>
#include <utility>

namespace batchfeed::python {

template <class E>
using Word = std::pair<std::string_view, E>;

template <class E>
struct Words;

}  // namespace batchfeed::python

namespace nanobind::detail {

template <class E>
struct word_caster {
  NB_TYPE_CASTER(E, const_name("str"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), &size) : nullptr;
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    for (const auto& [word, e] : batchfeed::python::Words<E>::all) {
      if (word != std::string_view(text, static_cast<std::size_t>(size))) continue;
      value = e;
      return true;
    }
    return false;
  }

  static handle from_cpp(E e, rv_policy, cleanup_list*) noexcept {
    for (const auto& [word, other] : batchfeed::python::Words<E>::all) {
      if (other == e) return PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()));
    }
    return {};
  }
};

}  // namespace nanobind::detail

#define BATCHFEED_WORDS(E, ...)                              \
  template <>                                                \
  struct batchfeed::python::Words<batchfeed::E> {            \
    static constexpr Word<batchfeed::E> all[] = __VA_ARGS__; \
  };                                                         \
  template <>                                                \
  struct nanobind::detail::type_caster<batchfeed::E> : word_caster<batchfeed::E> {}

BATCHFEED_WORDS(Storage, {{"dense", batchfeed::Storage::dense}, {"sparse", batchfeed::Storage::sparse}});
BATCHFEED_WORDS(Element, {{"float32", batchfeed::Element::f32}, {"float64", batchfeed::Element::f64}});
BATCHFEED_WORDS(KeyMode, {{"numeric", batchfeed::KeyMode::numeric},
                          {"text", batchfeed::KeyMode::text},
                          {"hashed", batchfeed::KeyMode::hashed}});
BATCHFEED_WORDS(OrderKind, {{"file", batchfeed::OrderKind::file},
                            {"cntk", batchfeed::OrderKind::cntk},
                            {"uniform", batchfeed::OrderKind::uniform}});
BATCHFEED_WORDS(Shard, {{"chunk", batchfeed::Shard::chunk}, {"even", batchfeed::Shard::even}});
BATCHFEED_WORDS(Packing, {{"sequences", batchfeed::Packing::sequences},
                          {"frames", batchfeed::Packing::frames},
                          {"truncated", batchfeed::Packing::truncated}});
BATCHFEED_WORDS(SizeUnit, {{"samples", batchfeed::SizeUnit::samples},
                           {"sequences", batchfeed::SizeUnit::sequences},
                           {"cells", batchfeed::SizeUnit::cells}});
BATCHFEED_WORDS(LongSequence, {{"alone", batchfeed::LongSequence::alone},
                               {"skip", batchfeed::LongSequence::skip},
                               {"split", batchfeed::LongSequence::split},
                               {"error", batchfeed::LongSequence::error}});
BATCHFEED_WORDS(LastMinibatch, {{"keep", batchfeed::LastMinibatch::keep},
                                {"drop", batchfeed::LastMinibatch::drop},
                                {"cross", batchfeed::LastMinibatch::cross}});
BATCHFEED_WORDS(ReaderOptions::Driver, {{"epochs", batchfeed::ReaderOptions::Driver::epochs},
                                        {"timeline", batchfeed::ReaderOptions::Driver::timeline}});
BATCHFEED_WORDS(Severity, {{"info", batchfeed::Severity::info},
                           {"warning", batchfeed::Severity::warning},
                           {"error", batchfeed::Severity::error}});
BATCHFEED_WORDS(Format, {{"unknown", batchfeed::Format::unknown},
                         {"ctf", batchfeed::Format::ctf},
                         {"cbf", batchfeed::Format::cbf},
                         {"htk", batchfeed::Format::htk},
                         {"scp", batchfeed::Format::scp},
                         {"mlf", batchfeed::Format::mlf},
                         {"kaldi", batchfeed::Format::kaldi},
                         {"config", batchfeed::Format::config}});
BATCHFEED_WORDS(ConvertOptions::Keys, {{"automatic", batchfeed::ConvertOptions::Keys::automatic},
                                       {"keep", batchfeed::ConvertOptions::Keys::keep},
                                       {"number", batchfeed::ConvertOptions::Keys::number},
                                       {"none", batchfeed::ConvertOptions::Keys::none}});
#undef BATCHFEED_WORDS
