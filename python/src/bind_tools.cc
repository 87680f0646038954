// SPDX-License-Identifier: MIT
//
// Work on whole corpora.
#include <batchfeed/compare.h>
#include <batchfeed/convert.h>
#include <batchfeed/speech_writer.h>
#include <batchfeed/split.h>
#include <batchfeed/subset.h>
#include <batchfeed/survey.h>
#include <batchfeed/tools.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "arrays.h"
#include "bindings.h"
#include "enums.h"

namespace batchfeed::python {

namespace {

void bind_check(nb::module_& m) {
  nb::class_<CheckResult>(m, "CheckResult")
      .def_ro("faults", &CheckResult::faults)
      .def_ro("warnings", &CheckResult::warnings)
      .def_ro("by_id", &CheckResult::by_id)
      .def_ro("sequences", &CheckResult::sequences)
      .def_ro("samples", &CheckResult::samples)
      .def_ro("bytes", &CheckResult::bytes)
      .def_ro("complete", &CheckResult::complete);
  m.def(
      "check",
      [](const Setup& setup, std::uint64_t max_faults, nb::handle report, nb::handle progress) {
        const CheckOptions options{.max_faults = max_faults, .progress = to_progress(progress)};
        const Report told = to_report(report);
        const Released unlocked;
        return check(setup, options, told);
      },
      "setup"_a, "max_faults"_a, "report"_a.none(), "progress"_a.none());
}

void bind_index(nb::module_& m) {
  nb::class_<IndexBuild>(m, "IndexBuild")
      .def_ro("file", &IndexBuild::file)
      .def_ro("cache", &IndexBuild::cache)
      .def_ro("was_valid", &IndexBuild::was_valid)
      .def_ro("why", &IndexBuild::why)
      .def_ro("sequences", &IndexBuild::sequences)
      .def_ro("samples", &IndexBuild::samples)
      .def_ro("chunks", &IndexBuild::chunks)
      .def_ro("bytes", &IndexBuild::bytes);
  m.def("build_indexes", &build_indexes, "setup"_a, "rebuild"_a, nb::call_guard<Released>());
}

void bind_describe(nb::module_& m) {
  using Lengths = Description::Lengths;
  nb::class_<Lengths>(m, "Lengths")
      .def_ro("min", &Lengths::min)
      .def_ro("max", &Lengths::max)
      .def_ro("p50", &Lengths::p50)
      .def_ro("p90", &Lengths::p90)
      .def_ro("p99", &Lengths::p99)
      .def_ro("mean", &Lengths::mean);
  nb::class_<Description>(m, "Description")
      .def_ro("streams", &Description::streams)
      .def_ro("sequences", &Description::sequences)
      .def_ro("samples", &Description::samples)
      .def_ro("chunks", &Description::chunks)
      .def_ro("bytes", &Description::bytes)
      .def_ro("largest_chunk_bytes", &Description::largest_chunk_bytes)
      .def_ro("smallest_chunk_bytes", &Description::smallest_chunk_bytes)
      .def_ro("lengths", &Description::lengths)
      .def_prop_ro(
          "steps",
          [](const Description& d) {
            nb::list out;
            for (const Description::Step& step : d.steps) out.append(nb::make_tuple(step.most, step.sequences));
            return out;
          },
          nb::sig("def steps(self) -> list[tuple[int, int]]"));
  // {length: sequences that have it}
  m.def(
      "length_counts",
      [](const Setup& setup) {
        const std::unique_ptr<Source> source = open_sources(setup);
        std::map<std::uint64_t, std::uint64_t> counts;
        std::vector<SequenceInfo> table;
        for (std::uint32_t chunk = 0; chunk < source->chunks().size(); ++chunk) {
          source->sequences(chunk, table);
          for (const SequenceInfo& sequence : table) ++counts[sequence.samples];
        }
        return counts;
      },
      "setup"_a, nb::call_guard<Released>());
  m.def(
      "describe", [](const Setup& setup) { return describe(*open_sources(setup)); }, "setup"_a,
      nb::call_guard<Released>());
}

// Over the numbers of `self`, which it keeps.
template <std::vector<double> StreamSurvey::Columns::*kValues>
nb::object figures(nb::handle self) {
  std::vector<double>& values = nb::cast<StreamSurvey&>(self).columns.*kValues;
  return array(reinterpret_cast<std::byte*>(values.data()), Element::f64, {values.size()}, self);
}

#define BATCHFEED_FIGURES(name) nb::sig("def " name "(self) -> numpy.typing.NDArray[numpy.float64]")

void bind_survey(nb::module_& m) {
  using Columns = StreamSurvey::Columns;
  nb::class_<StreamSurvey>(m, "StreamSurvey")
      .def_ro("stream", &StreamSurvey::stream)
      .def_ro("samples", &StreamSurvey::samples)
      .def_ro("values", &StreamSurvey::values)
      .def_ro("zeros", &StreamSurvey::zeros)
      .def_ro("nans", &StreamSurvey::nans)
      .def_ro("infinities", &StreamSurvey::infinities)
      .def_ro("min", &StreamSurvey::min)
      .def_ro("max", &StreamSurvey::max)
      .def_ro("mean", &StreamSurvey::mean)
      .def_ro("deviation", &StreamSurvey::deviation)
      .def_ro("integral", &StreamSurvey::whole)
      .def_ro("one_hot", &StreamSurvey::one_hot)
      .def_prop_ro("density", &StreamSurvey::density)
      .def("quantile", &StreamSurvey::quantile, "q"_a)
      .def_prop_ro("has_columns", [](const StreamSurvey& s) { return !s.columns.mean.empty(); })
      .def_prop_ro(
          "not_zero",
          [](nb::handle self) {
            std::vector<std::uint64_t>& counts = nb::cast<StreamSurvey&>(self).by_index;
            return array(reinterpret_cast<std::int64_t*>(counts.data()), {counts.size()}, self);
          },
          nb::sig("def not_zero(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("column_min", &figures<&Columns::min>, BATCHFEED_FIGURES("column_min"))
      .def_prop_ro("column_max", &figures<&Columns::max>, BATCHFEED_FIGURES("column_max"))
      .def_prop_ro("column_mean", &figures<&Columns::mean>, BATCHFEED_FIGURES("column_mean"))
      .def_prop_ro("column_deviation", &figures<&Columns::deviation>, BATCHFEED_FIGURES("column_deviation"));
  nb::class_<Survey>(m, "Survey")
      .def_ro("streams", &Survey::streams)
      .def_ro("sequences", &Survey::sequences)
      .def_ro("samples", &Survey::samples)
      .def_ro("bytes", &Survey::bytes)
      .def_ro("invalid", &Survey::invalid)
      .def_ro("duplicates", &Survey::duplicates)
      .def_ro("duplicates_estimated", &Survey::duplicates_estimated)
      .def_ro("check", &Survey::check);
  m.def(
      "survey",
      [](const Setup& setup, nb::handle progress) {
        const SurveyOptions options{.max_faults = 0, .progress = to_progress(progress), .columns = true};
        const Released unlocked;
        Survey found = survey(setup, options);
        if (found.unread) throw Error(*found.unread);
        return found;
      },
      "setup"_a, "progress"_a.none());
}

#undef BATCHFEED_FIGURES

// Corpora that are used together: the classes of labels get the same numbers in all.
std::vector<std::shared_ptr<const Source>> open_together(const std::vector<const Setup*>& setups) {
  std::vector<std::vector<SourceOptions>> sources;
  for (const Setup* setup : setups) sources.push_back(setup->sources);
  fit_labels(sources, setups.front()->limits, setups.front()->file_system);
  std::vector<std::shared_ptr<const Source>> out;
  for (std::size_t i = 0; i < setups.size(); ++i) {
    Setup fitted = *setups[i];
    fitted.sources = std::move(sources[i]);
    out.push_back(open_sources(fitted));
  }
  return out;
}

// Whether streams of text were inferred, so that a sparse dim says only which indices were met.
bool has_inferred(Setup setup) {
  return std::ranges::any_of(sources_of(setup), [](const SourceOptions* source) {
    const auto* const text = std::get_if<CtfOptions>(source);
    return text != nullptr && !text->seen.empty();
  });
}

void bind_compare(nb::module_& m) {
  nb::class_<Located>(m, "Located")
      .def_ro("number", &Located::number)
      .def_ro("key", &Located::key)
      .def_prop_ro("file", [](const Located& l) { return l.at.file; })
      .def_prop_ro("first_line", [](const Located& l) { return l.at.first_line; })
      .def_prop_ro("last_line", [](const Located& l) { return l.at.last_line; })
      .def_ro("line", &Located::line);
  nb::class_<Difference>(m, "Difference")
      .def_ro("a", &Difference::a)
      .def_ro("b", &Difference::b)
      .def_ro("what", &Difference::what);
  nb::class_<Comparison>(m, "Comparison")
      .def_ro("streams", &Comparison::streams)
      .def_ro("keys", &Comparison::keys)
      .def_ro("sequences_a", &Comparison::sequences_a)
      .def_ro("sequences_b", &Comparison::sequences_b)
      .def_ro("same", &Comparison::same)
      .def_ro("changed", &Comparison::changed)
      .def_ro("only_a", &Comparison::only_a)
      .def_ro("only_b", &Comparison::only_b)
      .def_ro("same_order", &Comparison::same_order)
      .def_ro("order", &Comparison::order)
      .def_ro("differences", &Comparison::differences);
  nb::class_<CompareOptions>(m, "CompareOptions")
      .def(nb::init<>())
      .def_rw("tolerance", &CompareOptions::tolerance)
      .def_rw("ignore_keys", &CompareOptions::ignore_keys)
      .def_rw("max_differences", &CompareOptions::most)
      .def_rw("jobs", &CompareOptions::jobs);
  // `streams`: those to compare; none: all.
  m.def(
      "compare",
      [](const Setup& a, const Setup& b, const std::vector<std::string>& streams, const CompareOptions& options,
         nb::handle progress) {
        CompareOptions wanted = options;
        wanted.sparse_dims = !has_inferred(a) && !has_inferred(b);
        wanted.progress = to_progress(progress);
        const Released unlocked;
        std::vector<std::shared_ptr<const Source>> both = open_together({&a, &b});
        if (!streams.empty()) {
          for (std::shared_ptr<const Source>& one : both) one = select_streams(std::move(one), streams);
        }
        return compare(both[0], both[1], wanted);
      },
      "a"_a, "b"_a, "streams"_a, "options"_a, "progress"_a.none());
}

// What corpora have beside their sequences: headers of features, which targets of these formats keep, and comments,
// which none keeps.
void look_at(const std::vector<const Setup*>& corpora, const std::vector<Format>& formats, ConvertOptions& wanted) {
  if (std::ranges::count(formats, Format::scp) + std::ranges::count(formats, Format::htk) != 0)
    set_header(wanted, corpora);
  warn_of_comments(corpora, wanted.report);
}

void bind_convert(nb::module_& m) {
  nb::class_<ConvertOptions>(m, "ConvertOptions")
      .def(nb::init<>())
      .def_rw("to", &ConvertOptions::to)
      .def_rw("legacy", &ConvertOptions::legacy)
      .def_rw("chunk_bytes", &ConvertOptions::chunk_bytes)
      .def_rw("ctf2bin_chunks", &ConvertOptions::ctf2bin_chunks, nb::arg().none())
      .def_rw("streams", &ConvertOptions::streams)
      .def_rw("renames", &ConvertOptions::renames)
      .def_rw("keys", &ConvertOptions::keys)
      .def_rw("shuffle", &ConvertOptions::shuffle, nb::arg().none())
      .def_rw("shuffle_memory", &ConvertOptions::shuffle_memory)
      .def_rw("jobs", &ConvertOptions::jobs)
      .def_rw("frame_period", &ConvertOptions::frame_period, nb::arg().none())
      .def_rw("parameter_kind", &ConvertOptions::parameter_kind, nb::arg().none())
      .def_rw("file_for_each_sequence", &ConvertOptions::file_for_each_sequence)
      .def_rw("binary_labels", &ConvertOptions::binary_labels)
      .def_rw("labels", &ConvertOptions::labels)
      .def_rw("force", &ConvertOptions::force)
      .def_rw("part", &ConvertOptions::part)
      .def_rw("verify", &ConvertOptions::verify);
  m.def("target_format", &target_format, "path"_a, "to"_a);
  m.def("htk_kind", &htk_kind, "text"_a);
  nb::class_<ConvertResult>(m, "ConvertResult")
      .def_ro("streams", &ConvertResult::streams)
      .def_ro("sequences", &ConvertResult::sequences)
      .def_ro("samples", &ConvertResult::samples)
      .def_ro("left_out", &ConvertResult::left_out)
      .def_ro("bytes", &ConvertResult::bytes)
      .def_ro("keys", &ConvertResult::keys)
      .def_ro("verified", &ConvertResult::verified);
  m.def(
      "convert",
      [](const Setup& setup, const std::string& target, const ConvertOptions& options, nb::handle report,
         nb::handle progress) {
        ConvertOptions wanted = options;
        wanted.report = to_report(report);
        wanted.progress = to_progress(progress);
        const Released unlocked;
        look_at({&setup}, {wanted.to}, wanted);
        return convert(*open_sources(setup), target, wanted);
      },
      "setup"_a, "target"_a, "options"_a, "report"_a.none(), "progress"_a.none());
}

void bind_merge(nb::module_& m) {
  m.def(
      "merge",
      [](const std::vector<const Setup*>& corpora, const std::string& target, const ConvertOptions& options,
         nb::handle report, nb::handle progress) {
        ConvertOptions wanted = options;
        wanted.report = to_report(report);
        wanted.progress = to_progress(progress);
        const Released unlocked;
        look_at(corpora, {wanted.to}, wanted);
        const std::unique_ptr<Source> all = merge(open_together(corpora), wanted);
        return convert(*all, target, wanted);
      },
      "corpora"_a, "target"_a, "options"_a, "report"_a.none(), "progress"_a.none());
}

void bind_sample(nb::module_& m) {
  // `count` sequences, or `fraction` of all.
  m.def(
      "sample",
      [](const Setup& setup, const std::string& target, std::uint64_t count, std::optional<double> fraction,
         std::uint64_t seed, const ConvertOptions& options, nb::handle report, nb::handle progress) {
        ConvertOptions wanted = options;
        wanted.report = to_report(report);
        wanted.progress = to_progress(progress);
        const Released unlocked;
        look_at({&setup}, {wanted.to}, wanted);
        const std::shared_ptr<const Source> source = open_sources(setup);
        Rows rows = sample_rows(*source, fraction ? sample_count(*source, *fraction) : count, seed);
        return convert(*subset(source, std::move(rows)), target, wanted);
      },
      "setup"_a, "target"_a, "count"_a, "fraction"_a.none(), "seed"_a, "options"_a, "report"_a.none(),
      "progress"_a.none());
}

void bind_split(nb::module_& m) {
  nb::class_<SplitOptions>(m, "SplitOptions")
      .def(nb::init<>())
      .def_rw("fractions", &SplitOptions::fractions)
      .def_rw("seed", &SplitOptions::seed)
      .def_rw("exact", &SplitOptions::exact)
      .def_rw("stratify", &SplitOptions::stratify)
      .def_rw("group", &SplitOptions::group);
  m.def(
      "split",
      [](const Setup& setup, const std::vector<std::string>& targets, const std::vector<Format>& formats,
         const SplitOptions& parts, const ConvertOptions& options, nb::handle report, nb::handle progress) {
        ConvertOptions wanted = options;
        wanted.report = to_report(report);
        wanted.progress = to_progress(progress);
        SplitOptions asked = parts;
        asked.jobs = options.jobs;
        asked.progress = to_progress(progress);
        const Released unlocked;
        look_at({&setup}, formats, wanted);
        const std::unique_ptr<Source> source = open_sources(setup);
        return split(*source, split_parts(*source, asked), targets, formats, wanted);
      },
      "setup"_a, "targets"_a, "formats"_a, "parts"_a, "options"_a, "report"_a.none(), "progress"_a.none());
}

}  // namespace

void bind_tools(nb::module_& m) {
  bind_check(m);
  bind_index(m);
  bind_describe(m);
  bind_survey(m);
  bind_compare(m);
  bind_convert(m);
  bind_merge(m);
  bind_sample(m);
  bind_split(m);
  m.def(
      "probe_source", [](const Setup& setup) { static_cast<void>(open_sources(setup)); }, "setup"_a,
      nb::call_guard<Released>());
}

}  // namespace batchfeed::python
