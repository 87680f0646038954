// SPDX-License-Identifier: MIT
//
// What a format needs to open a source, beside its own options.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>
#include <batchfeed/limits.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "model/key_table.h"

namespace batchfeed {

// True if it has counted the notice, whose text is not wanted then: there may be one for each byte of a file.
using CountOnly = std::function<bool(Severity severity, std::string_view id)>;

struct OpenContext {
  Limits limits;
  FileSystem file_system;          // opens what the system does not
  Report report;                   // notices as they arise; thread-safe; may be empty
  CountOnly count_only;            // asked before a notice is made; thread-safe; may be empty
  std::shared_ptr<KeyTable> keys;  // shared by all sources of a reader; never null
  unsigned threads = 1;            // for indexing; at least 1
  bool check = false;              // report every fault, tolerate what can be tolerated
  // What would end the opening, such as an id above 2^64 - 1 or labels beyond a limit, is a fault like others: for a
  // check, as no reader may have what comes of that.
  bool lists_all = false;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // bytes indexed; may be empty
  // Put around every source before it is joined (to measure it); may be empty.
  std::function<std::unique_ptr<Source>(std::unique_ptr<Source>)> around;
};

}  // namespace batchfeed
