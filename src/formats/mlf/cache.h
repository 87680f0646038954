// SPDX-License-Identifier: MIT
//
// The index of a label file on disk, so that the next run need not read all of
// the file first (docs/reference/formats/index-cache.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "formats/mlf/index.h"

namespace batchfeed::mlf {

// Adds one file to `builder`: from its cache, if that fits the file and the
// options, else by `index`, whose result is kept then. A file that ends without its
// last end line is not kept: each run shall say so.
void index_cached(const io::File& file, const MlfOptions& options, const std::function<void()>& index,
                  FaultSink& faults, IndexBuilder& builder);

// Whether there is a cache that fits.
struct CacheState {
  bool valid = false;
  std::string path;  // of the cache
  std::string why;   // the cache at `path` does not fit; empty if there is none
  std::uint64_t utterances = 0;
};
CacheState find_cache(const MlfOptions& options, const std::string& file, const OpenContext& context);

}  // namespace batchfeed::mlf
