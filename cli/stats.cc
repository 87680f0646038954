// SPDX-License-Identifier: MIT
//
// `batchfeed stats`: the values of every stream in one table.
#include "stats.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "class_names.h"
#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "look.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kTop = 8;
constexpr std::uint64_t kMostClasses = 1000;  // more indices are a vocabulary rather than classes

struct StatsArguments {
  CorpusArguments corpus;
  bool columns = false, json = false;
};

std::string kind(const StreamSurvey& s) {
  const std::string storage(name(s.stream.storage));
  return s.one_hot ? storage + ", one-hot" : s.whole && s.values != 0 ? storage + ", whole" : storage;
}

std::string share_text(double part) { return fmt::format("{:.3g} %", 100 * part); }

std::string stream_table(const Survey& survey) {
  Table table({"stream", "kind", "dim", "samples", "not 0", "min", "median", "max", "mean", "deviation", "NaN, inf"});
  for (const StreamSurvey& s : survey.streams) {
    std::vector<std::string> row = {printable(s.stream.name), kind(s), std::to_string(s.stream.dim),
                                    count_text(s.samples), share_text(s.density())};
    for (const double value : {s.min, s.quantile(0.5), s.max, s.mean, s.deviation})
      row.push_back(s.values == 0 ? "-" : value_text(value));
    row.push_back(count_text(s.nans + s.infinities));
    table.row(std::move(row));
  }
  return table.text();
}

// "  labels: 10 of 10 classes occur; most often 7 (12.1 %), 3 (11 %) ..."; classes with their `names`, if they have
// any.
std::string indices(const StreamSurvey& s, const std::vector<std::string>& names) {
  if (s.by_index.empty() || s.stream.dim < 2) return {};
  std::string out;
  if (s.one_hot || s.stream.storage == Storage::sparse) {
    out = fmt::format("  {}: {} of {} {} occur; most often", printable(s.stream.name), count_text(s.used),
                      count_text(s.stream.dim), s.one_hot && s.stream.dim <= kMostClasses ? "classes" : "indices");
    const char* before = " ";
    for (const auto& [index, n] : s.top(kTop)) {
      out += fmt::format("{}{} ({})", before, class_text(index, names),
                         share_text(static_cast<double>(n) / static_cast<double>(s.samples)));
      before = ", ";
    }
    return out + "\n";
  }
  if (s.constants == 0) return {};
  out = fmt::format("  {}: {} of {} columns never change:", printable(s.stream.name), count_text(s.constants),
                    count_text(s.stream.dim));
  for (std::size_t i = 0; i < s.constant.size() && i < kTop; ++i) out += fmt::format(" {}", s.constant[i]);
  return out + (s.constants > kTop ? " ...\n" : "\n");
}

// A table with a row for each column; columns of sparse streams that are 0 everywhere are left out, and counted.
std::string column_table(const StreamSurvey& s, const std::vector<std::string>& names) {
  const StreamSurvey::Columns& columns = s.columns;
  if (columns.mean.empty()) return {};
  Table table({"column", "not 0", "min", "max", "mean", "deviation"});
  std::uint64_t left_out = 0;
  for (std::size_t i = 0; i < columns.mean.size(); ++i) {
    const std::uint64_t not_zero = s.by_index.empty() ? 0 : s.by_index[i];
    if (not_zero == 0 && s.stream.storage == Storage::sparse) {
      ++left_out;
      continue;
    }
    std::vector<std::string> row = {class_text(i, names), count_text(not_zero)};
    for (const std::vector<double>* const values : {&columns.min, &columns.max, &columns.mean, &columns.deviation})
      row.push_back(std::isnan((*values)[i]) ? "-" : value_text((*values)[i]));
    table.row(std::move(row));
  }
  const std::string others =
      left_out == 0 ? "" : fmt::format("  and {} in which nothing occurs\n", plural(left_out, "column"));
  return fmt::format("\n{}\n\n{}{}", printable(s.stream.name), table.text(), others);
}

std::string column_tables(const Setup& setup, const Survey& survey) {
  std::string out;
  for (const StreamSurvey& s : survey.streams) {
    out += column_table(s, class_names(s, setup));
    if (s.columns.mean.empty())
      out += fmt::format("\n{}: {} are more than are looked at one by one ({} in all)\n", printable(s.stream.name),
                         plural(s.stream.dim, "column"), count_text(StreamSurvey::kMostColumns));
  }
  return out;
}

std::string text(const StatsArguments& a, const Setup& setup, const Survey& survey, const Description& about) {
  std::string out = fmt::format("{}: {}, {}, {}\n\n{}\n", printable(a.corpus.files.front(), 200),
                                plural(survey.sequences, "sequence"), plural(survey.samples, "sample"),
                                bytes_text(survey.bytes), stream_table(survey));
  for (const StreamSurvey& stream : survey.streams) out += indices(stream, class_names(stream, setup));
  const Description::Lengths& l = about.lengths;
  out += l.min == l.max ? fmt::format("  every sequence has {}\n", plural(l.max, "sample"))
                        : fmt::format("  samples of a sequence: {} to {}, mean {:.1f}, half up to {}, 99 % up to {}\n",
                                      l.min, l.max, l.mean, l.p50, l.p99);
  if (survey.duplicates != 0)
    out += fmt::format("  {}{} the data of another one\n", survey.duplicates_estimated ? "about " : "",
                       plural(survey.duplicates, "sequence") + (survey.duplicates == 1 ? " repeats" : " repeat"));
  if (survey.check.faults != 0) {
    const std::string left_out =
        survey.invalid == 0 ? "" : fmt::format(", {} left out of these figures", plural(survey.invalid, "sequence"));
    out += fmt::format("  {}{}; batchfeed check lists them\n", plural(survey.check.faults, "fault"), left_out);
  }
  if (a.columns) out += column_tables(setup, survey);
  return out;
}

// The figures of the columns. NaN, for a column without finite values, becomes null.
ordered_json columns_json(const StreamSurvey& s) {
  if (s.columns.mean.empty()) return {};
  return {{"not_zero", s.by_index},
          {"min", s.columns.min},
          {"max", s.columns.max},
          {"mean", s.columns.mean},
          {"deviation", s.columns.deviation}};
}

std::string json(const StatsArguments& a, const Setup& setup, const Survey& survey, const Description& about) {
  ordered_json out = {{"files", a.corpus.files},           {"sequences", survey.sequences},
                      {"samples", survey.samples},         {"bytes", survey.bytes},
                      {"duplicates", survey.duplicates},   {"duplicates_estimated", survey.duplicates_estimated},
                      {"invalid", survey.invalid},         {"faults", survey.check.faults},
                      {"complete", survey.check.complete}, {"lengths", lengths_json(about.lengths)},
                      {"streams", ordered_json::array()}};
  for (const StreamSurvey& stream : survey.streams)
    out["streams"].push_back(survey_json(stream, class_names(stream, setup)));
  for (std::size_t i = 0; a.columns && i < survey.streams.size(); ++i)
    out["streams"][i]["columns"] = columns_json(survey.streams[i]);
  return dump(out, 2) + "\n";
}

int run_stats(const StatsArguments& a, Console& console) {
  const Looked looked = look_at(a.corpus, console);
  const Description about = describe(*looked.source);
  console.clear_progress();
  SurveyOptions options;
  options.max_faults = 0;
  options.progress = console.progress("reading");
  options.columns = a.columns;
  const Survey found = survey(looked.corpus.setup, options);
  console.clear_progress();
  put_text(a.json ? json(a, looked.corpus.setup, found, about) : text(a, looked.corpus.setup, found, about));
  if (found.unread) throw Error(*found.unread);  // a later check may not find it again
  return kDone;
}

}  // namespace

std::string range_text(const Inferred::Stream& stream) {
  if (stream.values == 0) return "no values";
  if (stream.one_hot) return "one-hot";
  return fmt::format("{} ... {}{}", value_text(stream.min), value_text(stream.max),
                     stream.integral ? ", whole numbers" : "");
}

ordered_json lengths_json(const Description::Lengths& l) {
  return {{"min", l.min}, {"max", l.max}, {"mean", l.mean}, {"p50", l.p50}, {"p90", l.p90}, {"p99", l.p99}};
}

ordered_json survey_json(const StreamSurvey& s, const std::vector<std::string>& names) {
  ordered_json out;
  out["name"] = s.stream.name;
  out["storage"] = name(s.stream.storage);
  out["dim"] = s.stream.dim;
  out["samples"] = s.samples;
  out["values"] = s.values;
  out["zeros"] = s.zeros;
  out["nans"] = s.nans;
  out["infinities"] = s.infinities;
  out["min"] = s.min;
  out["max"] = s.max;
  out["mean"] = s.mean;
  out["deviation"] = s.deviation;
  out["p01"] = s.quantile(0.01);
  out["p50"] = s.quantile(0.5);
  out["p99"] = s.quantile(0.99);
  out["integral"] = s.whole;
  out["density"] = s.density();
  out["one_hot"] = s.one_hot;
  out["used_indices"] = s.by_index.empty() ? ordered_json() : ordered_json(s.used);
  out["constant_columns"] = s.constants;
  out["top_indices"] = ordered_json::array();
  for (const auto& [index, count] : s.top(20)) out["top_indices"].push_back({index, count});
  out["top_names"] = ordered_json::array();
  for (std::size_t i = 0; !names.empty() && i < out["top_indices"].size(); ++i) {
    const auto index = out["top_indices"][i][0].get<std::uint64_t>();
    const std::string name = index < names.size() ? names[static_cast<std::size_t>(index)] : "";
    out["top_names"].push_back(name.empty() ? std::to_string(index) : name);
  }
  return out;
}

Run add_stats(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<StatsArguments>();
  CLI::App& command = add_command(app, "stats", "The values of every stream in one table",
                                  "batchfeed stats train.ctf\n"
                                  "batchfeed stats train.cntk --section Train.reader\n"
                                  "batchfeed stats train.ctf --columns   # mean and deviation of each feature\n"
                                  "batchfeed stats train.ctf --json | jq '.streams[] | {name, min, max, nans}'");
  arguments->corpus.add_to(command, false);
  command.add_flag("--columns", arguments->columns,
                   "Also least, greatest, mean and deviation of each column of each stream");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_stats(*arguments, console); };
}

}  // namespace batchfeed::cli
