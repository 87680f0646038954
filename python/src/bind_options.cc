// SPDX-License-Identifier: MIT
//
// The option structs, field by field and under their own names.
#include <batchfeed/options.h>
#include <batchfeed/source.h>
#include <batchfeed/tools.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

void bind_sources(nb::module_& m) {
  nb::class_<StreamSpec>(m, "StreamSpec")
      .def(nb::init<>())
      .def_rw("name", &StreamSpec::name)
      .def_rw("alias", &StreamSpec::alias)
      .def_rw("storage", &StreamSpec::storage)
      .def_rw("dim", &StreamSpec::dim)
      .def_rw("defines_mb_size", &StreamSpec::defines_mb_size);
  static_cast<void>(nb::class_<FileIdentity>(m, "FileIdentity"));
  nb::class_<CtfOptions>(m, "CtfOptions")
      .def(nb::init<>())
      .def_rw("files", &CtfOptions::files)
      .def_rw("streams", &CtfOptions::streams)
      .def_rw("element", &CtfOptions::element)
      .def_rw("skip_sequence_ids", &CtfOptions::skip_sequence_ids)
      .def_rw("max_errors", &CtfOptions::max_errors)
      .def_rw("trace_level", &CtfOptions::trace_level)
      .def_rw("chunk_bytes", &CtfOptions::chunk_bytes)
      .def_rw("cache_index", &CtfOptions::cache_index)
      .def_rw("cache_dir", &CtfOptions::cache_dir)
      .def_rw("seen", &CtfOptions::seen);
  nb::class_<CbfOptions::Rename>(m, "Rename")
      .def(nb::init<std::string, std::string>(), "name"_a, "alias"_a)
      .def_rw("name", &CbfOptions::Rename::name)
      .def_rw("alias", &CbfOptions::Rename::alias);
  nb::class_<CbfOptions>(m, "CbfOptions")
      .def(nb::init<>())
      .def_rw("files", &CbfOptions::files)
      .def_rw("renames", &CbfOptions::renames)
      .def_rw("element", &CbfOptions::element)
      .def_rw("convert_element", &CbfOptions::convert_element)
      .def_rw("trace_level", &CbfOptions::trace_level);
}

void bind_speech(nb::module_& m) {
  nb::class_<HtkOptions>(m, "HtkOptions")
      .def(nb::init<>())
      .def_rw("name", &HtkOptions::name)
      .def_rw("scp_files", &HtkOptions::scp_files)
      .def_rw("prefix", &HtkOptions::prefix)
      .def_rw("dim", &HtkOptions::dim)
      .def_rw("context", &HtkOptions::context)
      .def_rw("expand_to_utterance", &HtkOptions::expand_to_utterance)
      .def_rw("max_sequence_frames", &HtkOptions::max_sequence_frames)
      .def_rw("chunk_frames", &HtkOptions::chunk_frames)
      .def_rw("defines_mb_size", &HtkOptions::defines_mb_size)
      .def_rw("frame_mode", &HtkOptions::frame_mode)
      .def_rw("element", &HtkOptions::element)
      .def_rw("trace_level", &HtkOptions::trace_level)
      .def_rw("legacy", &HtkOptions::legacy)
      .def_rw("max_utterance_frames", &HtkOptions::max_utterance_frames)
      .def_rw("path_map", &HtkOptions::path_map)
      .def_rw("files", &HtkOptions::files);
  nb::class_<MlfOptions>(m, "MlfOptions")
      .def(nb::init<>())
      .def_rw("name", &MlfOptions::name)
      .def_rw("files", &MlfOptions::files)
      .def_rw("binary", &MlfOptions::binary)
      .def_rw("mapping_file", &MlfOptions::mapping_file)
      .def_rw("dim", &MlfOptions::dim)
      .def_rw("phone_boundaries", &MlfOptions::phone_boundaries)
      .def_rw("chunk_bytes", &MlfOptions::chunk_bytes)
      .def_rw("cache_index", &MlfOptions::cache_index)
      .def_rw("frame_mode", &MlfOptions::frame_mode)
      .def_rw("element", &MlfOptions::element)
      .def_rw("trace_level", &MlfOptions::trace_level)
      .def_rw("legacy", &MlfOptions::legacy)
      .def_rw("target_mapping_file", &MlfOptions::target_mapping_file)
      .def_rw("target_dim", &MlfOptions::target_dim)
      .def_rw("labels", &MlfOptions::labels)
      .def_rw("inferred", &MlfOptions::inferred)
      .def_rw("cache_dir", &MlfOptions::cache_dir);
  nb::class_<KaldiOptions>(m, "KaldiOptions")
      .def(nb::init<>())
      .def_rw("name", &KaldiOptions::name)
      .def_rw("files", &KaldiOptions::files)
      .def_rw("alignment", &KaldiOptions::alignment)
      .def_rw("dim", &KaldiOptions::dim)
      .def_rw("context", &KaldiOptions::context)
      .def_rw("chunk_frames", &KaldiOptions::chunk_frames)
      .def_rw("frame_mode", &KaldiOptions::frame_mode)
      .def_rw("element", &KaldiOptions::element)
      .def_rw("expand_to_utterance", &KaldiOptions::expand_to_utterance)
      .def_rw("defines_mb_size", &KaldiOptions::defines_mb_size)
      .def_rw("trace_level", &KaldiOptions::trace_level);
}

// Shown, compared, pickled and copied by its fields (batchfeed._options).
template <class Options>
nb::class_<Options> value_class(nb::module_& m, const char* name, const char* about) {
  const auto ours = [](const char* function) { return nb::module_::import_("batchfeed._options").attr(function); };
  nb::class_<Options> out(m, name, about);
  out.def(nb::init<>())
      .def(
          "__repr__", [ours](nb::handle self) { return ours("show")(self); }, nb::sig("def __repr__(self) -> str"))
      .def(
          "__reduce__", [ours](nb::handle self) { return ours("parts")(self); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__eq__", [ours](nb::handle self, nb::handle other) { return ours("alike")(self, other); }, nb::arg().none(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  out.attr("__hash__") = nb::none();  // its fields may be set
  return out;
}

void bind_reader_options(nb::module_& m) {
  value_class<OrderOptions>(m, "OrderOptions", "The order of a reader.")
      .def_rw("kind", &OrderOptions::kind)
      .def_rw("window", &OrderOptions::window)
      .def_rw("window_in_samples", &OrderOptions::window_in_samples)
      .def_rw("seed", &OrderOptions::seed);
  value_class<PackOptions>(m, "PackOptions", "How a reader packs minibatches.")
      .def_rw("kind", &PackOptions::kind)
      .def_rw("truncation_length", &PackOptions::truncation_length)
      .def_rw("right_splice", &PackOptions::right_splice);
  value_class<ReaderOptions>(m, "ReaderOptions",
                             "The options of a reader, under the names of its keywords; `order` and `pack` hold some.")
      .def_rw("order", &ReaderOptions::order)
      .def_rw("pack", &ReaderOptions::pack)
      .def_rw("shard", &ReaderOptions::shard)
      .def_rw("workers", &ReaderOptions::workers)
      .def_rw("rank", &ReaderOptions::rank)
      .def_rw("stride", &ReaderOptions::stride)
      .def_rw("offset", &ReaderOptions::offset)
      .def_rw("minibatch_size", &ReaderOptions::minibatch_size)
      .def_rw("size_unit", &ReaderOptions::size_unit)
      .def_rw("local_timeline", &ReaderOptions::local_timeline)
      .def_rw("epoch_samples", &ReaderOptions::epoch_samples)
      .def_rw("epoch_sweeps", &ReaderOptions::epoch_sweeps)
      .def_rw("start_epoch", &ReaderOptions::start_epoch)
      .def_rw("driver", &ReaderOptions::driver)
      .def_rw("cross_sweeps", &ReaderOptions::cross_sweeps, nb::arg().none())
      .def_rw("long_sequence", &ReaderOptions::long_sequence)
      .def_rw("last_minibatch", &ReaderOptions::last_minibatch)
      .def_rw("bucket_minibatches", &ReaderOptions::bucket_minibatches)
      .def_rw("mix_weights", &ReaderOptions::mix_weights)
      .def_rw("max_invalid", &ReaderOptions::max_invalid)
      .def_rw("keep_in_memory", &ReaderOptions::keep_in_memory)
      .def_rw("prefetch", &ReaderOptions::prefetch)
      .def_rw("prefetch_depth", &ReaderOptions::prefetch_depth)
      .def_rw("threads", &ReaderOptions::threads)
      .def_rw("memory_limit", &ReaderOptions::memory_limit)
      .def_rw("keys", &ReaderOptions::keys)
      .def_rw("legacy_speech", &ReaderOptions::legacy_speech)
      .def_rw("full_minibatches", &ReaderOptions::full_minibatches)
      .def_rw("rows_per_epoch", &ReaderOptions::rows_per_epoch)
      .def_rw("rolling_window", &ReaderOptions::rolling_window)
      .def_rw("one_sequence", &ReaderOptions::one_sequence);
}

void frame_mode(Setup& setup) {
  const bool frames = setup.reader.pack.kind == Packing::frames;
  for (SourceOptions* const source : sources_of(setup)) {
    std::visit(
        [&](auto& options) {
          if constexpr (requires { options.frame_mode; }) options.frame_mode = frames;
        },
        *source);
  }
}

void cache_index(Setup& setup, const std::string& folder) {
  for (SourceOptions* const source : sources_of(setup)) {
    if (auto* ctf = std::get_if<CtfOptions>(source)) {
      ctf->cache_index = true;
      if (!folder.empty()) ctf->cache_dir = folder;
    }
    if (auto* mlf = std::get_if<MlfOptions>(source)) {
      mlf->cache_index = true;
      if (!folder.empty()) mlf->cache_dir = folder;
    }
  }
}

void map_paths(Setup& setup, const std::vector<std::pair<std::string, std::string>>& rules) {
  for (SourceOptions* const source : sources_of(setup)) {
    if (auto* htk = std::get_if<HtkOptions>(source))
      htk->path_map.insert(htk->path_map.end(), rules.begin(), rules.end());
  }
}

void bind_limits(nb::module_& m) {
  nb::class_<Limits>(m, "Limits")
      .def(nb::init<>())
      .def_rw("line_bytes", &Limits::line_bytes)
      .def_rw("list_line_bytes", &Limits::list_line_bytes)
      .def_rw("dim", &Limits::dim)
      .def_rw("streams", &Limits::streams)
      .def_rw("name_bytes", &Limits::name_bytes)
      .def_rw("key_bytes", &Limits::key_bytes)
      .def_rw("sequence_samples", &Limits::sequence_samples)
      .def_rw("label_frames", &Limits::label_frames)
      .def_rw("label_ratio", &Limits::label_ratio)
      .def_rw("chunk_values", &Limits::chunk_values)
      .def_rw("implied_samples", &Limits::implied_samples)
      .def_rw("scp_entries", &Limits::scp_entries)
      .def_rw("mlf_states", &Limits::mlf_states)
      .def_rw("config_bytes", &Limits::config_bytes)
      .def_rw("config_depth", &Limits::config_depth)
      .def_rw("config_expansions", &Limits::config_expansions)
      .def_rw("config_includes", &Limits::config_includes)
      .def_rw("state_bytes", &Limits::state_bytes)
      .def_rw("pattern_bytes", &Limits::pattern_bytes)
      .def_rw("unpacked_bytes", &Limits::unpacked_bytes)
      .def_rw("unpack_ratio", &Limits::unpack_ratio)
      .def_rw("unpack_window_bytes", &Limits::unpack_window_bytes)
      .def_rw("unpack_held_ratio", &Limits::unpack_held_ratio);
}

}  // namespace

void bind_options(nb::module_& m) {
  bind_sources(m);
  bind_speech(m);
  bind_reader_options(m);
  bind_limits(m);
  nb::class_<StreamInfo>(m, "StreamInfo",
                         "A stream: its name, dim, storage (dense or sparse) and element (float32 or float64).")
      .def(nb::init<>())
      .def_prop_rw(
          "name", [](const StreamInfo& s) { return to_str(s.name); },
          [](StreamInfo& s, std::string name) { s.name = std::move(name); })
      .def_rw("dim", &StreamInfo::dim)
      .def_rw("storage", &StreamInfo::storage)
      .def_rw("element", &StreamInfo::element)
      .def_rw("defines_mb_size", &StreamInfo::defines_mb_size)
      .def_rw("broadcast", &StreamInfo::broadcast)
      .def("__getstate__",
           [](const StreamInfo& s) {
             return std::make_tuple(s.name, s.dim, s.storage, s.element, s.defines_mb_size, s.broadcast);
           })
      .def("__setstate__",
           [](StreamInfo& s, const std::tuple<std::string, std::uint64_t, Storage, Element, bool, bool>& state) {
             new (&s) StreamInfo{.name = std::get<0>(state),
                                 .dim = std::get<1>(state),
                                 .storage = std::get<2>(state),
                                 .element = std::get<3>(state),
                                 .defines_mb_size = std::get<4>(state),
                                 .broadcast = std::get<5>(state)};
           })
      .def(
          "__eq__",
          [](const StreamInfo& s, nb::handle other) {
            return nb::isinstance<StreamInfo>(other) && s == nb::cast<const StreamInfo&>(other);
          },
          nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const StreamInfo& s) { return std::hash<std::string>{}(s.name); })
      .def("__repr__", [](nb::handle self) {
        return nb::str("StreamInfo(name={!r}, dim={}, storage={!r}, element={!r})")
            .format(self.attr("name"), self.attr("dim"), self.attr("storage"), self.attr("element"));
      });
  const nb::class_<Source> source(m, "Source");
  nb::class_<Setup>(m, "Setup")
      .def(nb::init<>())
      .def_rw("reader", &Setup::reader)
      .def_rw("limits", &Setup::limits)
      .def_rw("file_system", &Setup::file_system)
      .def("add", [](Setup& s, const CtfOptions& o) { s.sources.emplace_back(o); })
      .def("add", [](Setup& s, const CbfOptions& o) { s.sources.emplace_back(o); })
      .def("add", [](Setup& s, const HtkOptions& o) { s.sources.emplace_back(o); })
      .def("add", [](Setup& s, const MlfOptions& o) { s.sources.emplace_back(o); })
      .def("add", [](Setup& s, const KaldiOptions& o) { s.sources.emplace_back(o); })
      .def("add", [](Setup& s, const std::shared_ptr<Source>& o) { s.sources.emplace_back(o); })
      .def(
          "add_speech",
          [](Setup& s, const std::vector<std::string>& files, const std::string& state_list, Element element) {
            for (SourceOptions& one : infer_speech(files, state_list, element, s.limits, s.file_system, s.report))
              s.sources.push_back(std::move(one));
          },
          "files"_a, "state_list"_a, "element"_a, nb::call_guard<Released>())
      // Speech sources draw frames if the reader packs them.
      .def("frame_mode", &frame_mode)
      // Every source that can keeps its index, in `folder` if it is not empty.
      .def("cache_index", &cache_index, "folder"_a)
      // In the lists of every HTK source.
      .def("map_paths", &map_paths, "rules"_a)
      .def("add_from", [](Setup& s, const Setup& other, std::size_t i) { s.sources.push_back(other.sources.at(i)); })
      // The sources added so far become one corpus of a mixture.
      .def("end_corpus",
           [](Setup& s) {
             s.mix.push_back(std::exchange(s.sources, {}));
             fit_inferred(s.mix, s.limits, s.file_system);
           })
      .def(
          "set_report", [](Setup& s, nb::handle function) { s.report = to_report(function); }, nb::arg().none())
      .def(
          "set_progress", [](Setup& s, nb::handle function) { s.progress = to_progress(function); }, nb::arg().none());
}

}  // namespace batchfeed::python
