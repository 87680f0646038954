// SPDX-License-Identifier: MIT
//
// Bytes of chunks, with neighbours of a tiny chunk read along: the reference's
// converter leaves one sequence a chunk, and a call to the system for each would
// cost more than its bytes. Thread-safe.
#pragma once

#include <batchfeed/buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/piece.h"
#include "base/spare.h"
#include "formats/cbf/feed.h"
#include "io/file.h"

namespace batchfeed::cbf {

class Nearby {
 public:
  static constexpr std::uint64_t kTiny = piece_bytes(128 << 10);
  static constexpr std::uint64_t kBlock = piece_bytes(1 << 20);

  explicit Nearby(const io::File& file) : file_(&file) {}
  ~Nearby();
  Nearby(const Nearby&) = delete;
  Nearby& operator=(const Nearby&) = delete;

  // Access to bytes of one chunk: feeds of it are valid as long as it lives. Must not outlive the Nearby.
  class Lease {
   public:
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Feed feed() const;

   private:
    friend class Nearby;
    struct Block {
      std::uint64_t begin = 0;
      Buffer<std::byte> bytes;
    };
    Lease(const Nearby* owner, std::uint64_t begin, std::uint64_t end) : owner_(owner), begin_(begin), end_(end) {}

    const Nearby* owner_;
    std::uint64_t begin_, end_;
    std::shared_ptr<Block> block_;             // tiny chunks
    std::optional<Spare<std::byte>> scratch_;  // others
  };

  Lease chunk(std::uint64_t begin, std::uint64_t end) const { return prefix(begin, end, end - begin); }
  // Bytes [begin, end), without neighbours: a part of a chunk that is read in parts.
  Lease part(std::uint64_t begin, std::uint64_t end) const;
  // As chunk(), if only its first `wanted` bytes will be read.
  Lease prefix(std::uint64_t begin, std::uint64_t end, std::uint64_t wanted) const;

 private:
  static constexpr std::size_t kBlocks = 4;
  // Files that keep blocks: a corpus may have thousands, and the one that was longest without a new block loses its
  // own.
  static constexpr std::size_t kFiles = 16;
  // A tiny chunk behind one lately read is read with kGrowth times as many bytes as that one, kFirstBlock to kBlock.
  // The first block is small, as chunks in random order follow one another by chance too.
  static constexpr std::uint64_t kFirstBlock = piece_bytes(16 << 10), kGrowth = 4;
  struct Read {
    std::uint64_t end = 0, bytes = 0;
  };

  std::shared_ptr<Lease::Block> block(std::uint64_t begin, std::uint64_t end) const;
  std::shared_ptr<Lease::Block> unused_block() const;
  void enter_files() const;

  const io::File* file_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<Lease::Block>> blocks_;  // most recent first
  mutable std::vector<Read> reads_;                            // of tiny chunks, most recent first
};

}  // namespace batchfeed::cbf
