// SPDX-License-Identifier: MIT
//
// Recycles the memory of minibatches: from those that are done with, on any thread
// and maybe after the end of their reader, to those that are packed next.
#pragma once

#include <batchfeed/minibatch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace batchfeed::detail {

class MinibatchPool {
 public:
  // A pool keeps `most` minibatches; of small ones, which the pipeline hands over many at a time, several times as
  // many as come together.
  static constexpr std::uint64_t kSmall = 64 << 10;
  static constexpr std::size_t kMostSmall = 128;
  explicit MinibatchPool(std::size_t most) : most_(most) {}

  // Takes the memory of a minibatch that is done with; what is too much goes to the system.
  void keep(std::vector<StreamBatch>& streams) noexcept;
  // Lends the memory that came last, which is most likely in a cache, unless the argument has some already.
  void lend(std::vector<StreamBatch>& streams) noexcept;
  void lend(std::vector<std::uint64_t>& keys) noexcept;
  // The minibatch will return its memory to `pool`.
  static void own(const std::shared_ptr<MinibatchPool>& pool, Minibatch& batch) noexcept {
    if (batch.pool_ != pool) batch.pool_ = pool;
  }
  // Frees what is kept, and from now on what comes.
  void close() noexcept;

 private:
  friend struct batchfeed::Minibatch;
  void keep_of(Minibatch& batch) noexcept;
  bool has_room(const std::vector<StreamBatch>& streams) const noexcept;

  const std::size_t most_;
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<std::vector<StreamBatch>> streams_;
  std::vector<std::vector<std::uint64_t>> keys_;
};

}  // namespace batchfeed::detail
