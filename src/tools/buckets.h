// SPDX-License-Identifier: MIT
//
// A shuffle of more than fits in memory: every sequence is thrown into a random
// bucket on disk; then each bucket, small enough, is shuffled by itself. All
// orders are equally likely, and the seed decides which.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/writer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "io/atomic_file.h"
#include "tools/target.h"

namespace batchfeed {

class Buckets {
 public:
  static constexpr std::uint64_t kMost = 400;  // two descriptors each

  // Writes to a new folder beside `target`, which the destructor removes. `keys`: rows have keys, not numbers alone.
  // About bytes / memory buckets are made, so that each fits in `memory` bytes.
  Buckets(const std::string& target, const std::vector<StreamInfo>& streams, bool keys, std::uint64_t bytes,
          std::uint64_t memory, std::uint64_t seed);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  void add(const RowRef& row);
  void close();

  std::size_t size() const noexcept { return buckets_.size(); }

  // One bucket in memory, its rows in random order.
  class Loaded {
   public:
    std::size_t size() const noexcept { return rows_.size(); }
    void row(std::size_t i, RowRef& out) const;

   private:
    friend class Buckets;
    struct Row {
      std::uint32_t chunk = 0, row = 0;
      std::uint64_t name = 0;  // where its number and key stand in `names_`
    };
    std::vector<Chunk> chunks_;
    std::vector<Row> rows_;
    Buffer<std::byte> names_;
    bool keys_ = false;
  };
  Loaded load(std::size_t bucket, unsigned jobs) const;
  void drop(std::size_t bucket) const;

 private:
  // A file of sequences, and one of what each is called: its number (8 bytes) and, if there are keys, the length of its
  // key (4 bytes) and the key.
  struct Bucket {
    CbfWriter sequences;
    io::AtomicFile names;
    Buffer<std::byte> last_names = {};  // that are still to be written
  };

  std::string path(std::size_t bucket) const;
  std::string names_path(std::size_t bucket) const;
  void remove() noexcept;

  std::string folder_;
  std::vector<StreamInfo> streams_;
  bool keys_;
  std::uint64_t seed_;
  CounterRng rng_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
};

}  // namespace batchfeed
