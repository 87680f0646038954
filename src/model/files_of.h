// SPDX-License-Identifier: MIT
#pragma once

#include <batchfeed/source.h>

#include <string>
#include <utility>
#include <vector>

namespace batchfeed {

// The files of all of them, which are pointers: Source::files() of a source made of others.
template <class Sources>
std::vector<std::string> files_of(const Sources& sources) {
  std::vector<std::string> all;
  for (const auto& source : sources) {
    for (std::string& file : source->files()) all.push_back(std::move(file));
  }
  return all;
}

}  // namespace batchfeed
