// SPDX-License-Identifier: MIT
//
// A minibatch: for each stream the samples of its sequences, one after the
// other ("packed"), and where each would stand in CNTK's rectangular layout.
// Other forms (padded, CNTK columns, CSC) are computed from these on demand.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/schema.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// A run of steps in one row of the layout. A sequence's sample i stands at step
// begin + i; begin < 0 or end > steps: it began earlier or goes on later.
struct LayoutEntry {
  std::uint32_t sequence = 0;  // index of the minibatch's keys; kGap for a gap
  std::uint32_t row = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  static constexpr std::uint32_t kGap = 0xFFFFFFFFu;
  bool operator==(const LayoutEntry&) const = default;
};

// A rectangle of `rows` parallel sequences by `steps` time steps; column
// t * rows + s is step t of row s. Entries: the sequences in order, then gaps.
struct Layout {
  std::uint32_t rows = 0;   // S
  std::uint32_t steps = 0;  // T
  std::vector<LayoutEntry> entries = {};
  std::size_t sequences = 0;  // so many of the entries are sequences, the rest gaps

  bool operator==(const Layout&) const = default;
};

struct PaddedView {  // [sequence][step][dim], zero-filled
  Buffer<std::byte> values;
  Buffer<std::uint8_t> mask;  // [sequence][step], 1 where there is a sample
  std::uint64_t sequences = 0, steps = 0, dim = 0;
};
struct CntkDenseView {  // [step][row][dim], gaps zero
  Buffer<std::byte> values;
  std::uint64_t columns = 0, dim = 0;
};
struct CntkSparseView {  // CSC over columns t * rows + s, gaps empty
  Buffer<std::byte> values;
  Buffer<std::int32_t> indices;
  Buffer<std::int64_t> columns;  // rows * steps + 1
};

// One stream of a minibatch. Packed: entry e of layout.entries (e <
// layout.sequences) owns samples offsets[e] .. offsets[e+1]; of a cut sequence
// these are only the samples inside the minibatch.
struct StreamBatch {
  std::string name;
  Storage storage = Storage::dense;
  Element element = Element::f32;
  std::uint64_t dim = 0;
  Layout layout;
  Buffer<std::int64_t> offsets;       // layout.sequences + 1, in samples
  Buffer<std::byte> values;           // dense: samples x dim; sparse: non-zeros
  Buffer<std::int32_t> indices;       // sparse
  Buffer<std::int64_t> sample_begin;  // sparse: samples + 1 (CSR over packed samples)

  std::uint64_t samples() const noexcept { return offsets.empty() ? 0 : static_cast<std::uint64_t>(offsets.back()); }
  // T is float or double, as `element` says.
  template <class T>
  const T* as() const noexcept {
    assert(sizeof(T) == size_of(element));
    return reinterpret_cast<const T*>(values.data());
  }

  // Each returns values of type `element` in memory of its own; thread-safe. The first two make sparse samples dense,
  // where the last value counts if an index occurs twice in a sample. All throw std::bad_alloc, and cntk_sparse()
  // Error(usage) for a dense stream.
  PaddedView padded() const;
  CntkDenseView cntk_dense() const;
  CntkSparseView cntk_sparse() const;
};

namespace detail {
class MinibatchPool;
}

// Plain data, which several threads may read at once. The destructor, on any thread, returns the memory to the reader
// it came from for reuse, or frees it if that reader has no use for it or is gone. Move assignment swaps the two.
struct Minibatch {
  Minibatch() = default;
  Minibatch(Minibatch&& other) noexcept { swap(other); }
  Minibatch& operator=(Minibatch&& other) noexcept {
    swap(other);
    return *this;
  }
  Minibatch(const Minibatch&) = delete;
  Minibatch& operator=(const Minibatch&) = delete;
  ~Minibatch() {
    if (pool_) give_back();
  }

  std::vector<StreamBatch> streams;  // empty if there is no data for this worker
  std::vector<std::uint64_t> keys;   // one per sequence (per frame in frame mode)
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;     // within the epoch, from 0
  std::uint64_t position = 0;  // global sample position after this minibatch
  bool end_of_epoch = false;
  bool end_of_sweep = false;
  std::uint64_t num_samples = 0;  // nominal lengths, this worker's
  std::uint64_t num_sequences = 0;
  std::uint64_t invalid = 0;  // sequences left out of it because they are damaged (frame mode: frames)

  bool empty() const noexcept { return streams.empty(); }
  const StreamBatch* find(std::string_view name) const noexcept;  // null if there is none
  const StreamBatch& operator[](std::string_view name) const;     // throws Error if there is none
  void swap(Minibatch& other) noexcept;

 private:
  friend class detail::MinibatchPool;
  void give_back() noexcept;

  std::shared_ptr<detail::MinibatchPool> pool_;
};

// Cells of the padded rectangles (sequences x longest of a minibatch) of the pools
// that bucketing has rearranged so far, over all workers.
struct Padding {
  std::uint64_t samples = 0;     // cells in use
  std::uint64_t cells = 0;       // of the minibatches as delivered
  std::uint64_t unbucketed = 0;  // of the minibatches that the order would give without bucketing

  // The part of the padding that bucketing removed; 0 if there was none.
  double saved() const noexcept {
    return unbucketed <= samples ? 0.0
                                 : (static_cast<double>(unbucketed) - static_cast<double>(cells)) /
                                       static_cast<double>(unbucketed - samples);
  }
  bool operator==(const Padding&) const = default;
};

}  // namespace batchfeed
