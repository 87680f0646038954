// SPDX-License-Identifier: MIT
//
// Files, notices and fingerprint of a source that is made of others. `sources` are pointers to these.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace batchfeed {

template <class Sources>
std::vector<std::string> files_of(const Sources& sources) {
  std::vector<std::string> all;
  for (const auto& source : sources) {
    for (std::string& file : source->files()) all.push_back(std::move(file));
  }
  return all;
}

// `own`, then those of the sources.
template <class Sources>
std::vector<Notice> notices_of(const Sources& sources, std::vector<Notice> own = {}) {
  for (const auto& source : sources) {
    for (Notice& notice : source->notices()) own.push_back(std::move(notice));
  }
  return own;
}

template <class Sources>
std::uint64_t fingerprint_of(const Sources& sources) {
  Fingerprint print;
  for (const auto& source : sources) print.add(source->fingerprint());
  return print.value();
}

}  // namespace batchfeed
