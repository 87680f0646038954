// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "jsonl.h"
#include "report_facts.h"
#include "stats.h"

namespace batchfeed::cli {

using nlohmann::ordered_json;

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
  out["duplicates_estimated"] = f.survey.duplicates_estimated;
  out["invalid"] = f.survey.invalid;
  out["lengths"] = lengths_json(f.about.lengths);
  out["streams"] = ordered_json::array();
  for (const StreamSurvey& stream : f.survey.streams)
    out["streams"].push_back(survey_json(stream, f.class_names.at(stream.stream.name)));
  out["order"] = {{"kind", f.order},
                  {"memory_bytes", f.memory},
                  {"minibatches", f.minibatches},
                  {"displacement", f.shuffle ? ordered_json(f.shuffle->displacement) : ordered_json()},
                  {"spread", f.shuffle ? ordered_json(f.shuffle->spread) : ordered_json()},
                  {"padding", f.cells.padding()},
                  {"padding_bucketed", f.bucketed.padding()},
                  {"padding_cntk_layout", Cells::part(f.cells.samples, f.cells.cntk)}};
  out["mixing"] = f.mixing ? ordered_json{{"labels", f.survey.label_stream},
                                          {"file", f.mixing->file},
                                          {"configured", f.mixing->configured},
                                          {"full", f.mixing->full}}
                           : ordered_json();
  out["pace"] = f.pace ? ordered_json{{"samples_per_second", f.pace->samples_per_second},
                                      {"bytes_per_second", f.pace->bytes_per_second},
                                      {"sweep_seconds", f.pace->sweep_seconds},
                                      {"threads", f.pace->threads}}
                       : ordered_json();
  out["left_out_by_join"] = f.left;
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
