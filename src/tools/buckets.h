// SPDX-License-Identifier: MIT
//
// A shuffle of more than fits in memory: every sequence is thrown into a random
// bucket on disk; then each bucket, small enough, is shuffled by itself. All
// orders are equally likely, and the seed decides which.
#pragma once

#include <batchfeed/writer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tools/target.h"

namespace batchfeed {

class Buckets {
 public:
  static constexpr std::uint64_t kMost = 400;  // two descriptors each

  // In a new folder beside `target`, which goes with this object.
  Buckets(const std::string& target, const std::vector<StreamInfo>& streams, std::uint64_t bytes, std::uint64_t memory,
          std::uint64_t seed);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  void add(const RowRef& row);
  void close();

  std::size_t size() const noexcept { return writers_.size(); }

  // One bucket in memory, its rows in random order. `keys`: rows get theirs back.
  struct Loaded {
    std::vector<Chunk> chunks;
    std::vector<RowRef> rows;
  };
  Loaded load(std::size_t bucket, bool keys) const;
  void drop(std::size_t bucket) const;

 private:
  std::string path(std::size_t bucket) const;
  void remove() noexcept;

  std::string folder_;
  std::vector<StreamInfo> streams_;
  std::uint64_t seed_;
  CounterRng rng_;
  std::vector<std::unique_ptr<CbfWriter>> writers_;
};

}  // namespace batchfeed
