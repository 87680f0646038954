// SPDX-License-Identifier: MIT
//
// Configuration files, and what is in a corpus that comes without one.
#include <batchfeed/config.h>
#include <batchfeed/tools.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

ConfigRequest request(const std::vector<std::string>& files, const std::vector<std::string>& set,
                      const std::string& section, std::optional<Element> precision, nb::handle report,
                      const FileSystem& file_system, const Limits& limits) {
  ConfigRequest out;
  out.limits = limits;
  out.file_system = file_system;
  out.files = files;
  out.set = set;
  out.section = section;
  out.precision = precision;
  out.report = to_report(report);
  return out;
}

// What the configuration says, for whoever uses it.
template <class T>
T unless(const std::optional<Fault>& wrong, const T& value) {
  if (wrong) throw Error(*wrong);
  return value;
}

}  // namespace

void bind_config(nb::module_& m) {
  nb::class_<LoadedConfig>(m, "LoadedConfig")
      .def_ro("setup", &LoadedConfig::setup)
      .def_ro("section", &LoadedConfig::section)
      .def_prop_ro("minibatch_size",
                   [](const LoadedConfig& c) { return unless(c.wrong_minibatch_size, c.minibatch_size); })
      .def_prop_ro("epoch_size", [](const LoadedConfig& c) { return unless(c.wrong_epoch_size, c.epoch_size); });
  m.def(
      "load_config",
      [](const std::vector<std::string>& files, const std::vector<std::string>& set, const std::string& section,
         std::optional<Element> precision, nb::handle report, const FileSystem& file_system, const Limits& limits,
         bool all_faults) {
        ConfigRequest wanted = request(files, set, section, precision, report, file_system, limits);
        wanted.all_faults = all_faults;
        const Released unlocked;
        return load_config(wanted);
      },
      "files"_a, "set"_a, "section"_a, "precision"_a.none(), "report"_a.none(), "file_system"_a, "limits"_a,
      "all_faults"_a = false);
  m.def(
      "reader_sections",
      [](const std::vector<std::string>& files, const std::vector<std::string>& set, const FileSystem& file_system,
         const Limits& limits) {
        return reader_sections(request(files, set, "", std::nullopt, nb::none(), file_system, limits));
      },
      "files"_a, "set"_a, "file_system"_a, "limits"_a);

  using InferredStream = Inferred::Stream;
  nb::class_<InferredStream>(m, "InferredStream")
      .def_ro("spec", &InferredStream::spec)
      .def_ro("integral", &InferredStream::integral)
      .def_ro("min", &InferredStream::min)
      .def_ro("max", &InferredStream::max)
      .def_ro("samples", &InferredStream::samples)
      .def_ro("values", &InferredStream::values)
      .def_ro("one_hot", &InferredStream::one_hot)
      .def_ro("odd", &InferredStream::odd);
  nb::class_<Inferred>(m, "Inferred")
      .def_ro("streams", &Inferred::streams)
      .def_ro("has_ids", &Inferred::has_ids)
      .def_ro("text_ids", &Inferred::text_ids)
      .def_ro("seen", &Inferred::seen)
      .def_ro("whole_file", &Inferred::whole_file);
  m.def(
      "infer_ctf",
      [](const std::vector<std::string>& files, nb::handle progress, const FileSystem& file_system,
         const Limits& limits, bool cache_index, const std::string& cache_dir, bool rebuild) {
        const Progress told = to_progress(progress);
        const Released unlocked;
        Inferred all = infer_ctf(files, told, limits, file_system,
                                 {.keep = cache_index, .directory = cache_dir, .rebuild = rebuild});
        // Nobody is told of slips here: all streams count, and reading says which sequence lacks one.
        all.streams.insert(all.streams.end(), all.rare.begin(), all.rare.end());
        all.rare.clear();
        return all;
      },
      "files"_a, "progress"_a.none(), "file_system"_a, "limits"_a, "cache_index"_a = false, "cache_dir"_a = "",
      "rebuild"_a = false);
  m.def(
      "expand_files",
      [](const std::vector<std::string>& names, const FileSystem& file_system, const Limits& limits) {
        return expand_files(names, file_system, limits);
      },
      "names"_a, "file_system"_a, "limits"_a, nb::call_guard<Released>());
  m.def("reader_section", nb::overload_cast<const std::vector<std::string>&, const Inferred&>(&reader_section),
        "files"_a, "inferred"_a);
  m.def(
      "detect_format",
      [](const std::vector<std::string>& files, const FileSystem& file_system, const Limits& limits) {
        return detect_format(files, file_system, limits);
      },
      "files"_a, "file_system"_a, "limits"_a, nb::call_guard<Released>());
}

}  // namespace batchfeed::python
