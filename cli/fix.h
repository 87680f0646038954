// SPDX-License-Identifier: MIT
//
// `check --fix`: a mended copy of the one file of a corpus.
#pragma once

#include <batchfeed/fix.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "corpus.h"

namespace batchfeed::cli {

struct Mended {
  std::string from = {}, to = {};
  std::vector<Fix> fixes = {};
  CorpusArguments arguments = {};  // they name the copy, or the configuration as before

  std::string text() const;
  nlohmann::ordered_json json() const;
  // Makes a configuration's corpus read the copy.
  void point(Setup& setup) const;
};

// Whether there is one text or binary file, which mend() takes.
bool can_mend(const Corpus& corpus, const CorpusArguments& arguments);

// Writes the copy. Throws Error, UsageError.
Mended mend(const CorpusArguments& arguments, const std::string& target, bool force, Console& console);

}  // namespace batchfeed::cli
