// SPDX-License-Identifier: MIT
//
// One of two corpora that are compared: all of its sequences as hashes.
#pragma once

#include <batchfeed/compare.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.h"

namespace batchfeed {

struct Print {
  std::uint64_t key = 0, data = 0;
  std::uint32_t chunk = 0, row = 0;
  // What makes two sequences the same one.
  std::uint64_t whole(bool keys) const { return keys ? Fingerprint().add(key).add(data).value() : data; }
};

class Side {
 public:
  // Reads all of the source. Progress counts from `before`, the bytes of the corpus read earlier, to `all`.
  Side(std::shared_ptr<const Source> source, const CompareOptions& options, std::uint64_t before, std::uint64_t all);

  Located locate(std::size_t number) const;
  // The chunk of a sequence: read again, unless it is the one of the last call.
  const Chunk& chunk_of(std::size_t number) const;

  std::vector<Print> prints;  // in the order of the corpus

 private:
  std::shared_ptr<const Source> source_;
  mutable std::vector<SequenceInfo> table_;
  mutable Chunk chunk_;
  mutable std::uint32_t loaded_ = ~0u;
};

}  // namespace batchfeed
