// SPDX-License-Identifier: MIT
//
// The seam between an order and the reader: which sequences come next. A
// timeline works on metadata only and is a pure function of (tables, options,
// position), so it is known ahead which chunk is needed when.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace batchfeed::order {

// One thing the timeline counts: a whole sequence, or one frame of it.
struct Item {
  static constexpr std::uint32_t kWhole = 0xFFFFFFFFu;

  std::uint32_t chunk = 0;       // of the source
  std::uint32_t row = 0;         // of the chunk
  std::uint32_t frame = kWhole;  // sample of the sequence, in frame mode
  std::uint32_t samples = 0;     // nominal length; 1 for a frame

  bool operator==(const Item&) const = default;
};

// The metadata an order sees. In frame mode (split_frames) every sequence of n
// samples counts as n sequences of one sample, in order. The source must outlive it.
class Corpus {
 public:
  Corpus(const Source& source, bool split_frames);

  std::uint32_t chunks() const noexcept { return static_cast<std::uint32_t>(sizes_.size()); }
  std::uint64_t sequences(std::uint32_t chunk) const noexcept { return sizes_[chunk].sequences; }
  std::uint64_t samples(std::uint32_t chunk) const noexcept { return sizes_[chunk].samples; }
  std::uint64_t total_samples() const noexcept { return total_samples_; }
  std::uint64_t total_sequences() const noexcept { return total_sequences_; }
  bool split_frames() const noexcept { return split_frames_; }
  const Source& source() const noexcept { return *source_; }
  // Appends the items of a chunk, in table order.
  void table(std::uint32_t chunk, std::vector<Item>& out) const;

 private:
  struct Size {
    std::uint64_t sequences, samples;
  };
  const Source* source_;
  bool split_frames_;
  std::vector<Size> sizes_;
  std::uint64_t total_samples_ = 0, total_sequences_ = 0;
};

// One answer: this worker's items, flags and the position behind it.
struct Batch {
  std::vector<Item> items;
  bool end_of_sweep = false;
  bool end_of_epoch = false;
  bool begins_block = false;  // bucketing: these items belong into a minibatch of their own
  std::uint64_t position = 0;
  // Chunks of the source (this worker's) that the order draws from around this
  // batch, in order of their turn; what is not in it may be dropped. The chunks of
  // `items` are among them and needed first.
  std::vector<std::uint32_t> window;
  // Equal numbers mean equal windows (of timelines over one corpus and one set of
  // options); next() leaves `window` alone if the number it finds here is right.
  std::uint64_t window_generation = 0;
};

// What the order depends on beside the position: how the timeline came there. Empty where
// the run began with this epoch.
struct Past {
  // Order `cntk`, at the begin of the epoch: the sweep was entered again before chunks that had been let go, and goes
  // on in the order that its number alone, without the seed, gives (minibatch.md 6.2).
  bool reordered = false;
  std::uint64_t let_go = 0;  // samples of the sweep whose chunks have been let go
  // Order `file`: 1 + the sweep with which the workers began to number sequences anew, as
  // they do where the epoch begins and where their options change (minibatch.md 13).
  std::uint64_t renumbered = 0;

  bool operator==(const Past&) const = default;
};

// Positions are global samples on the endless line of sweeps (minibatch.md 3).
class Timeline {
 public:
  static constexpr std::uint64_t kUnlimited = ~0ull;

  virtual ~Timeline() = default;

  // Epoch [begin, begin + size); restores position `begin`.
  virtual void begin_epoch(std::uint64_t begin, std::uint64_t size) = 0;
  // The same behind an epoch that was read to its end, as the reference does it: where
  // that one overshot its end, order `cntk` may enter the sweep in another order.
  virtual void next_epoch(std::uint64_t begin, std::uint64_t size) { begin_epoch(begin, size); }
  // set_past() follows begin_epoch() and comes before all else.
  virtual Past past() const { return {}; }
  virtual void set_past(const Past& /*past*/) {}
  // To the first sequence start at or behind `position` (minibatch.md 6.2, 7).
  virtual void restore(std::uint64_t position) = 0;
  // Takes effect with the next restore() (minibatch.md 6.3 rule 7).
  virtual void set_workers(std::uint64_t workers, std::uint64_t rank) = 0;
  // Limits in samples, over all workers and for this one; both > 0.
  virtual void next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) = 0;
  virtual std::uint64_t position() const = 0;
  // Some chunks, `most` or fewer, that will be needed first, if this is known before next() draws
  // from them.
  virtual std::vector<std::uint32_t> first_chunks(std::size_t /*most*/) const { return {}; }
  // What bucketing by length saves, over the pools entered so far; null without it.
  virtual const Padding* padding() const { return nullptr; }
};

// Kinds cntk, uniform and file, sharded as Shard::chunk says; Shard::even shares out
// what the timeline of one worker gives (share.h). `cross_sweeps`: may a batch span sweeps.
// `own_first`: limits do not apply before the first sequence of this worker. If false, with several workers in a
// randomised order, they apply after the first sequence of any, and a batch may be empty before the end (htk.md 12.6).
std::unique_ptr<Timeline> make_timeline(const Corpus& corpus, const OrderOptions& options, bool cross_sweeps,
                                        std::uint64_t workers, std::uint64_t rank, bool own_first = true);

}  // namespace batchfeed::order
