// SPDX-License-Identifier: MIT
//
// Memory of minibatches on its way round: from those that are done with, on any
// thread and maybe after their reader, to those that are packed next.
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
  // Of minibatches that waking a thread for costs more than packing them a pool keeps as many as are handed over
  // together, some times over; of others so many.
  static constexpr std::uint64_t kSmall = 64 << 10;
  static constexpr std::size_t kMostSmall = 128;
  explicit MinibatchPool(std::size_t most) : most_(most) {}

  // Takes the memory of a minibatch that is done with; what is too much goes to the system.
  void keep(std::vector<StreamBatch>& streams) noexcept;
  // Lends the last that came, which is most likely in a cache; nothing to whoever has some.
  void lend(std::vector<StreamBatch>& streams) noexcept;
  void lend(std::vector<std::uint64_t>& keys) noexcept;
  // The minibatch gives its memory back here.
  static void own(const std::shared_ptr<MinibatchPool>& pool, Minibatch& batch) noexcept {
    if (batch.pool_ != pool) batch.pool_ = pool;
  }
  // What comes from now on goes to the system, as what is there.
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
