// SPDX-License-Identifier: MIT
//
// What a source made of others says of all of them. `sources` are pointers.
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

// Behind its own, which come first.
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
