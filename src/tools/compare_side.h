// SPDX-License-Identifier: MIT
//
// The two corpora that are compared: their sequences as hashes.
#pragma once

#include <batchfeed/compare.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace batchfeed {

struct Print {
  std::uint64_t key = 0, data = 0;
  std::uint32_t chunk = 0, row = 0;
  // What makes two sequences the same one.
  std::uint64_t whole(bool keys) const { return keys ? Fingerprint().add(key).add(data).value() : data; }
};

// A corpus and the hashes of its sequences. Not thread-safe.
class Side {
 public:
  explicit Side(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const Source& source() const { return *source_; }
  std::uint64_t sequences() const { return passed + prints.size(); }

  // Of prints[i]:
  Located locate(std::size_t i) const;
  // Its chunk: read again, unless it is the one of the last call.
  const Chunk& chunk_of(std::size_t i) const;

  std::uint64_t passed = 0;   // sequences in front of `prints`
  std::vector<Print> prints;  // in the order of the corpus

 private:
  std::shared_ptr<const Source> source_;
  mutable std::vector<SequenceInfo> table_;
  mutable Chunk chunk_;
  mutable std::uint32_t loaded_ = ~0u;
};

// Reads all of both, side by side. Sequences that are the same, keys (if `keys`) and data, in both from the beginning
// on are passed: memory is needed from the first difference on.
void read_sides(Side& a, Side& b, bool keys, const CompareOptions& options);

}  // namespace batchfeed
