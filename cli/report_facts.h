// SPDX-License-Identifier: MIT
//
// All that `batchfeed report` says, before it is put on a page or into JSON.
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

// How well minibatches are mixed: the mean number of classes in one, as the
// exponential of the entropy of its labels (so 4.2 means: as mixed as 4.2 equally
// frequent classes), for three orders of the same minibatches.
struct Mixing {
  double file = 0, configured = 0, full = 0;
};

// Reading in the order of the files, measured for a moment.
struct Pace {
  double samples_per_second = 0, bytes_per_second = 0, sweep_seconds = 0;
  unsigned threads = 1;
};

struct Advice {
  bool serious = false;  // wrong results rather than lost time
  std::string text;
};

struct Facts {
  std::string title;               // of the page: the file named first
  std::vector<std::string> files;  // as named
  std::string section;             // of a configuration
  std::string format;
  std::string kinds;    // of the sources, in words
  bool joined = false;  // of several sources
  Description about;
  Survey survey;
  ValueCounts lengths;
  std::vector<Notice> findings;  // the first of them; all are counted in survey.check

  std::string order;  // that was judged, in words
  std::uint64_t minibatches = 0, minibatch_size = 0, memory = 0;
  std::string size_unit;
  std::optional<ShuffleQuality> shuffle;  // none: too many sequences to judge
  std::optional<Mixing> mixing;           // none: no labels, or all alike
  // Of each stream, in order; empty where its classes have none.
  std::map<std::string, std::vector<std::string>> class_names;
  Cells cells, bucketed;
  bool in_parts = false;          // large chunks are read in parts
  std::optional<Pace> pace;       // none: damage stood in the way
  std::vector<std::string> left;  // by the join, in words

  std::vector<Advice> advice;
};

// Reads all of the corpus. Throws Error.
Facts gather_facts(const CorpusArguments& arguments, const RunOptions& run, Console& console);

// What follows from the figures, most serious first.
std::vector<Advice> advice_for(const Facts& facts);

// One HTML page that needs nothing else.
std::string report_page(const Facts& facts);
// The same figures; docs/reference/cli.md has the keys.
std::string report_json(const Facts& facts);

}  // namespace batchfeed::cli
