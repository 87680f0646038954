// SPDX-License-Identifier: MIT
//
// The report as a page, section by section.
#include <batchfeed/version.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "class_names.h"
#include "format.h"
#include "hints.h"
#include "html.h"
#include "report_facts.h"

namespace batchfeed::cli {

namespace {

std::string text(std::string_view raw) { return escape(printable(raw, 200)); }
std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string glance(const Facts& f) {
  const auto box = [](std::string_view what, const std::string& value) {
    return fmt::format("<div><b>{}</b><span class=\"dim\">{}</span></div>\n", value, what);
  };
  const std::uint64_t faults = f.survey.check.faults;
  return "<div class=\"glance\">\n" + box("sequences", count_text(f.survey.sequences)) +
         box("samples", count_text(f.survey.samples)) + box("streams", std::to_string(f.survey.streams.size())) +
         box("bytes", bytes_text(f.survey.bytes)) +
         box(f.about.chunks == 1 ? "chunk" : "chunks", count_text(f.about.chunks)) +
         box("faults", faults == 0 ? "none" : fmt::format("<span class=\"bad\">{}</span>", count_text(faults))) +
         "</div>\n";
}

std::string advice(const Facts& f) {
  std::string out = "<h2 id=\"advice\">Advice</h2>\n";
  if (f.advice.empty()) return out + "<p>Nothing stands out.</p>\n";
  out += "<ul>\n";
  for (const Advice& one : f.advice) {
    out += fmt::format("<li{}>{}</li>\n", one.serious ? " class=\"bad\"" : "", escape(one.text));
  }
  return out + "</ul>\n";
}

std::string values_chart(const StreamSurvey& s) {
  if (s.min == s.max) return "";  // the range shows this already
  const std::vector<ValueCounts::Bar> bars = s.counts.bars(s.min, s.max, s.whole, 60);
  std::vector<Bar> out;
  for (const ValueCounts::Bar& bar : bars) {
    const std::string range =
        bar.low == bar.high ? value_text(bar.low) : value_text(bar.low) + " to " + value_text(bar.high);
    out.push_back({fmt::format("{}: {}", range, count_text(bar.count)), static_cast<double>(bar.count)});
  }
  return histogram(
      fmt::format("Values of {}{}", text(s.stream.name), s.stream.storage == Storage::sparse ? ", as stored" : ""), out,
      value_text(s.min), value_text(s.max));
}

// `names`: of the classes, as far as they are known.
std::string index_chart(const StreamSurvey& s, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  const auto top = s.top(kMost);
  if (top.empty()) return "";
  std::vector<Bar> bars;
  std::vector<std::string> figures;
  for (const auto& [index, count] : top) {
    bars.push_back({text(class_text(index, names)), static_cast<double>(count)});
    figures.push_back(
        fmt::format("{} ({})", count_text(count),
                    percent(static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(1, s.samples)))));
  }
  const std::string title = s.one_hot ? "Samples of each class"
                                      : "Indices with the most values that are not 0, and in what part of the samples";
  return ranking(s.used > kMost ? fmt::format("{}: the first {} of {}", title, kMost, count_text(s.used)) : title, bars,
                 figures);
}

std::string stream_card(const StreamSurvey& s, const std::vector<std::string>& names) {
  const bool sparse = s.stream.storage == Storage::sparse;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"kind", fmt::format("{}, dim {}, {}{}", sparse ? "sparse" : "dense", count_text(s.stream.dim),
                           precision_of(s.stream.element), s.one_hot ? "; one-hot, a label" : "")},
      {"samples", count_text(s.samples)},
      {sparse ? "values stored" : "values",
       count_text(s.values) +
           (sparse && s.samples != 0
                ? fmt::format(", {:.1f} a sample", static_cast<double>(s.values) / static_cast<double>(s.samples))
                : "")},
      {"not zero", fmt::format("{} of all elements", percent(s.density()))},
  };
  if (!s.one_hot) {
    facts.insert(
        facts.end(),
        {{"range", fmt::format("{} to {}{}", value_text(s.min), value_text(s.max), s.whole ? ", whole numbers" : "")},
         {"mean, deviation",
          fmt::format("{}, {}{}", value_text(s.mean), value_text(s.deviation), sparse ? " of stored values" : "")},
         {"median; 1 %, 99 %", fmt::format("{}; {}, {}", value_text(s.quantile(0.5)), value_text(s.quantile(0.01)),
                                           value_text(s.quantile(0.99)))},
         {"NaN, infinite", s.nans + s.infinities == 0 ? "none"
                                                      : fmt::format("<span class=\"bad\">{}, {}</span>",
                                                                    count_text(s.nans), count_text(s.infinities))}});
  }
  if (!s.by_index.empty())
    facts.emplace_back("indices used", fmt::format("{} of {}", count_text(s.used), count_text(s.stream.dim)));
  if (s.constants != 0) {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(s.constant.size(), 10); ++i)
      list += (i == 0 ? "" : ", ") + std::to_string(s.constant[i]);
    facts.emplace_back("constant columns",
                       fmt::format("{}: {}{}", count_text(s.constants), list, s.constants > 10 ? ", ..." : ""));
  }
  return fmt::format(
      "<section class=\"card\"><h3>{}</h3>\n<div class=\"two\"><div>{}</div><div>{}</div></div>{}</section>\n",
      text(s.stream.name), facts_list(facts), s.one_hot ? index_chart(s, names) : values_chart(s),
      s.one_hot || !sparse ? "" : "<p></p>" + index_chart(s, names));
}

std::string lengths(const Facts& f) {
  const Description::Lengths& l = f.about.lengths;
  std::string left;
  for (const std::string& one : f.left) left += (left.empty() ? "" : "; ") + escape(printable(one, 300));
  std::vector<std::pair<std::string, std::string>> facts = {
      {"samples in one", l.min == l.max
                             ? fmt::format("{} in every one", count_text(l.max))
                             : fmt::format("{} to {}, mean {:.1f}", count_text(l.min), count_text(l.max), l.mean)},
      {"half; 90 %; 99 %", fmt::format("up to {}; {}; {}", count_text(l.p50), count_text(l.p90), count_text(l.p99))},
      {"the same data as another",
       fmt::format("{}{} ({})", f.survey.duplicates_estimated ? "about " : "", count_text(f.survey.duplicates),
                   percent(f.survey.sequences == 0
                               ? 0
                               : static_cast<double>(f.survey.duplicates) / static_cast<double>(f.survey.sequences)))},
      {"damaged", f.survey.invalid == 0 ? "none" : count_text(f.survey.invalid)},
      {"chunks", f.about.chunks == 1
                     ? bytes_text(f.about.bytes)
                     : fmt::format("{} of {} to {}", count_text(f.about.chunks),
                                   bytes_text(f.about.smallest_chunk_bytes), bytes_text(f.about.largest_chunk_bytes))},
  };
  std::string out = "<h2 id=\"sequences\">Sequences and chunks</h2>\n<section class=\"card\"><div class=\"two\"><div>" +
                    facts_list(facts);
  out += "</div><div>";
  if (l.min != l.max) {
    std::vector<Bar> bars;
    for (const ValueCounts::Bar& bar :
         f.lengths.bars(static_cast<double>(l.min), static_cast<double>(l.max), true, 50)) {
      bars.push_back({fmt::format("{}: {}",
                                  bar.low == bar.high ? value_text(bar.low)
                                                      : value_text(std::ceil(bar.low)) + " to " + value_text(bar.high),
                                  count_text(bar.count)),
                      static_cast<double>(bar.count)});
    }
    out += histogram("Samples of a sequence", bars, count_text(l.min), count_text(l.max));
  }
  out += "</div></div>";
  if (f.joined)
    out += "<p><span class=\"dim\">left out by the join:</span> " + (left.empty() ? "nothing" : left) + "</p>\n";
  return out + "</section>\n";
}

std::string shuffle(const Facts& f) {
  std::string out = "<h2 id=\"order\">Order and minibatches</h2>\n<section class=\"card\">";
  std::vector<std::pair<std::string, std::string>> facts = {
      {"order", text(f.order)},
      {"minibatch", fmt::format("{} {}{}", count_text(f.minibatch_size), f.size_unit,
                                f.minibatches == 0 ? "" : fmt::format("; {} in a sweep", count_text(f.minibatches)))},
      {"memory", fmt::format("chunks of up to {}, as the files have them", bytes_text(f.memory))},
  };
  if (f.pace) {
    facts.emplace_back("pace", fmt::format("{} samples/s ({}/s), a sweep in {}: measured in file order, on {}",
                                           count_text(static_cast<std::uint64_t>(f.pace->samples_per_second)),
                                           bytes_text(static_cast<std::uint64_t>(f.pace->bytes_per_second)),
                                           seconds_text(f.pace->sweep_seconds), plural(f.pace->threads, "thread")));
  }
  if (!f.shuffle) {
    facts.emplace_back("shuffle", "not judged: too many sequences; batchfeed plan judges one epoch");
    return out + facts_list(facts) + "</section>\n";
  }
  facts.emplace_back("moved",
                     fmt::format("{:.0f} % as far from its place as in a full shuffle", 100 * f.shuffle->displacement));
  facts.emplace_back("neighbours", fmt::format("{:.0f} % as far apart as in a full shuffle", 100 * f.shuffle->spread));
  facts.emplace_back(
      "padding",
      f.cells.padding() == 0
          ? "none"
          : fmt::format("{} of the cells of padded minibatches{}; {} of CNTK's layout; packed ones have none",
                        percent(f.cells.padding()),
                        f.bucketed.cells < f.cells.cells
                            ? fmt::format(", {} with bucketing by length", percent(f.bucketed.padding()))
                            : "",
                        percent(Cells::part(f.cells.samples, f.cells.cntk))));
  out += "<div class=\"two\"><div>" + facts_list(facts) + "</div><div>";
  if (f.mixing) {
    const auto figure = [](double n) { return fmt::format("{:.2f}", n); };
    out += ranking(
        fmt::format("Classes of {} in a minibatch, on average: that many equally frequent ones would be as mixed",
                    text(f.survey.label_stream)),
        {{"file&nbsp;order", f.mixing->file},
         {"this&nbsp;order", f.mixing->configured},
         {"full&nbsp;shuffle", f.mixing->full}},
        {figure(f.mixing->file), figure(f.mixing->configured), figure(f.mixing->full)});
  }
  return out + "</div></div></section>\n";
}

std::string faults(const Facts& f) {
  std::string out = "<h2 id=\"faults\">Faults and warnings</h2>\n";
  const CheckResult& check = f.survey.check;
  if (f.findings.empty()) return out + "<p>None found.</p>\n";
  std::vector<Row> kinds;
  for (const auto& [id, count] : check.by_id) kinds.push_back({text(id), count_text(count)});
  if (!kinds.empty()) out += table("How many of each kind", {"kind", "count"}, kinds);
  const bool all = f.findings.size() == check.faults + check.warnings;
  out += fmt::format("<p class=\"dim\">{}, each with its place and what to do</p>\n<ul class=\"found\">\n",
                     all ? "All of them" : "The first " + count_text(f.findings.size()));
  for (const Notice& notice : f.findings) {
    const Position& at = notice.fault.at;
    std::string place = text(at.file);
    if (at.line != 0) place += fmt::format(":{}", at.line) + (at.column != 0 ? fmt::format(":{}", at.column) : "");
    if (at.has_byte && at.line == 0) place += fmt::format(" (byte {})", count_text(at.byte));
    out += fmt::format("<li>{} <b>{}</b> <span>{}{}</span></li>\n",
                       notice.severity == Severity::error ? "<em class=\"bad\">fault</em>" : "<em>warning</em>", place,
                       escape(printable(notice.fault.what, 400)),
                       notice.fault.hint.empty()
                           ? ""
                           : "<span class=\"dim\">" + escape(printable(in_flags(notice.fault).hint, 400)) + "</span>");
  }
  return out + "</ul>\n";
}

}  // namespace

std::string report_page(const Facts& f) {
  std::string named;
  for (const std::string& file : f.files) named += (named.empty() ? "" : ", ") + text(file);
  std::string body = fmt::format(
      "<header><h1>{}</h1>\n<p class=\"dim\">{}{}; {}</p></header>\n"
      "<nav aria-label=\"Sections\"><a href=\"#advice\">Advice</a><a href=\"#streams\">Streams</a>"
      "<a href=\"#sequences\">Sequences</a><a href=\"#order\">Order</a><a href=\"#faults\">Faults</a></nav>\n<main>\n",
      text(f.title), named, f.section.empty() ? "" : ", section " + text(f.section), text(f.kinds));
  body += glance(f) + advice(f) + "<h2 id=\"streams\">Streams</h2>\n";
  for (const StreamSurvey& stream : f.survey.streams) body += stream_card(stream, f.class_names.at(stream.stream.name));
  body += lengths(f) + shuffle(f) + faults(f);
  body += fmt::format(
      "</main>\n<footer class=\"dim\"><p>All of the data were read, in {} on {} ({}/s). Median and percentiles are "
      "right to within 1 %; all other figures are exact{}. batchfeed {}</p></footer>\n",
      seconds_text(f.survey.seconds), plural(f.survey.threads, "thread"),
      bytes_text(static_cast<std::uint64_t>(static_cast<double>(f.survey.bytes) / std::max(f.survey.seconds, 1e-9))),
      f.survey.sequences > (1u << 24) ? ", but for repeated sequences, which are estimated" : "", BATCHFEED_VERSION);
  return page(text(f.title), body);
}

}  // namespace batchfeed::cli
