// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>

#include "jsonl.h"
#include "report_facts.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

ordered_json stream_json(const StreamSurvey& s) {
  ordered_json out;
  out["name"] = s.stream.name;
  out["storage"] = s.stream.storage == Storage::dense ? "dense" : "sparse";
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
  out["p01"] = s.counts.quantile(0.01);
  out["p50"] = s.counts.quantile(0.5);
  out["p99"] = s.counts.quantile(0.99);
  out["integral"] = s.whole;
  out["density"] = s.density();
  out["one_hot"] = s.one_hot;
  out["used_indices"] = s.by_index.empty() ? ordered_json() : ordered_json(s.used);
  out["constant_columns"] = s.constants;
  out["top_indices"] = ordered_json::array();
  for (const auto& [index, count] : s.top(20)) out["top_indices"].push_back({index, count});
  return out;
}

}  // namespace

std::string report_json(const Facts& f) {
  ordered_json out;
  out["files"] = f.files;
  out["section"] = f.section.empty() ? ordered_json() : ordered_json(f.section);
  out["format"] = f.format;
  out["sequences"] = f.survey.sequences;
  out["samples"] = f.survey.samples;
  out["bytes"] = f.survey.bytes;
  out["chunks"] = f.about.chunks;
  out["duplicates"] = f.survey.duplicates;
  out["invalid"] = f.survey.invalid;
  const Description::Lengths& l = f.about.lengths;
  out["lengths"] = {{"min", l.min}, {"max", l.max}, {"mean", l.mean}, {"p50", l.p50}, {"p90", l.p90}, {"p99", l.p99}};
  out["streams"] = ordered_json::array();
  for (const StreamSurvey& stream : f.survey.streams) out["streams"].push_back(stream_json(stream));
  out["order"] = {{"kind", f.order},
                  {"memory_bytes", f.memory},
                  {"minibatches", f.minibatches},
                  {"displacement", f.shuffle ? ordered_json(f.shuffle->displacement) : ordered_json()},
                  {"spread", f.shuffle ? ordered_json(f.shuffle->spread) : ordered_json()},
                  {"padding", f.cells.padding()},
                  {"padding_bucketed", f.bucketed.padding()}};
  out["mixing"] = f.mixing ? ordered_json{{"labels", f.survey.label_stream},
                                          {"file", f.mixing->file},
                                          {"configured", f.mixing->configured},
                                          {"full", f.mixing->full}}
                           : ordered_json();
  out["faults"] = f.survey.check.faults;
  out["warnings"] = f.survey.check.warnings;
  out["by_id"] = ordered_json::object();
  for (const auto& [id, count] : f.survey.check.by_id) out["by_id"][id] = count;
  out["findings"] = ordered_json::array();
  for (const Notice& notice : f.findings) out["findings"].push_back(notice_json(notice));
  out["advice"] = ordered_json::array();
  for (const Advice& advice : f.advice) out["advice"].push_back({{"serious", advice.serious}, {"text", advice.text}});
  return dump(out, 2) + "\n";
}

}  // namespace batchfeed::cli
