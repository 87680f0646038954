// SPDX-License-Identifier: MIT
//
// All facts of `batchfeed report`, from which the page and the JSON are made.
#pragma once

#include <batchfeed/survey.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "corpus.h"
#include "plan_measures.h"
#include "run_options.h"

namespace batchfeed::cli {

// How well minibatches are mixed: the mean over minibatches of the exponential of the entropy of
// the labels (4.2 means: as mixed as 4.2 equally frequent classes), for three orders: that of
// the file, the configured one, and a full shuffle.
struct Mixing {
  double file = 0, configured = 0, full = 0;
};

// The speed of reading in the order of the files, measured for about a second.
struct Pace {
  double samples_per_second = 0, bytes_per_second = 0, sweep_seconds = 0;
  unsigned threads = 1;
};

struct Advice {
  bool serious = false;  // results may be wrong; otherwise only time is lost
  std::string text;
};

struct Facts {
  std::string title;               // of the page: the file named first
  std::vector<std::string> files;  // as named
  std::string section;             // of a configuration
  std::string format;
  std::string kinds;    // of the sources, in words
  bool joined = false;  // from several sources
  Description about;
  Survey survey;
  ValueCounts lengths;
  std::vector<Notice> findings;  // the first ones; survey.check counts all

  std::string order;  // the order that was judged, in words
  std::uint64_t minibatches = 0, minibatch_size = 0, memory = 0;
  std::string size_unit;
  std::optional<ShuffleQuality> shuffle;  // none: too many sequences to judge
  std::optional<Mixing> mixing;           // none: no labels, or all of one class
  // The names of the classes, by stream; empty if they have none.
  std::map<std::string, std::vector<std::string>> class_names;
  Cells cells, bucketed;
  bool in_parts = false;          // large chunks are read in parts
  std::optional<Pace> pace;       // none: damage prevented measuring it
  std::vector<std::string> left;  // what the join left out, in words

  std::vector<Advice> advice;
};

// Reads all of the corpus. Throws Error.
Facts gather_facts(const CorpusArguments& arguments, const RunOptions& run, Console& console);

// Advice that follows from the facts, the most serious first.
std::vector<Advice> advice_for(const Facts& facts);

// The report as one HTML page that refers to no other file.
std::string report_page(const Facts& facts);
// The same figures; docs/reference/cli.md has the keys.
std::string report_json(const Facts& facts);

}  // namespace batchfeed::cli
