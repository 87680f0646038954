// SPDX-License-Identifier: MIT
//
// What an order costs: a sequence of a sweep, a minibatch, a restore in the middle.
#include <benchmark/benchmark.h>

#include "order/timeline.h"

namespace batchfeed::order {
namespace {

// Chunks of equal size; lengths 1, or 1 to 4.
class EqualSource final : public Source {
 public:
  EqualSource(std::uint64_t chunks, std::uint32_t sequences, bool varied) : sequences_(sequences), varied_(varied) {
    std::uint64_t samples = 0;
    for (std::uint32_t i = 0; i < sequences; ++i) samples += length(i);
    chunks_.assign(chunks, ChunkInfo{.sequences = sequences, .samples = samples});
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    out.resize(sequences_);
    for (std::uint32_t i = 0; i < sequences_; ++i) out[i] = {std::uint64_t{chunk} * sequences_ + i, i, length(i)};
  }
  void read(std::uint32_t /*chunk*/, Chunk& /*out*/) const override {}

 private:
  std::uint32_t length(std::uint32_t i) const { return varied_ ? 1 + i % 4 : 1; }

  std::uint32_t sequences_;
  bool varied_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
};

OrderOptions options_of(const benchmark::State& state) {
  return {
      .kind = static_cast<OrderKind>(state.range(0)), .window = static_cast<std::uint64_t>(state.range(1)), .seed = 1};
}

// A whole sweep in minibatches of 256 samples.
void BM_Sweep(benchmark::State& state) {
  const EqualSource source(1000, 1000, true);
  const Corpus corpus(source, false);
  const auto timeline = make_timeline(corpus, options_of(state), false, 1, 0);
  Batch batch;
  std::uint64_t sweep = 0, batches = 0;
  for (auto _ : state) {
    timeline->begin_epoch(sweep * corpus.total_samples(), corpus.total_samples());
    do {
      timeline->next(256, 256, batch);
      ++batches;
    } while (!batch.end_of_epoch);
    ++sweep;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sweep * corpus.total_sequences()));
  state.counters["minibatch"] =
      benchmark::Counter(static_cast<double>(batches), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Into the middle of a sweep of 10^8 sequences, from nothing.
void BM_Restore(benchmark::State& state) {
  const EqualSource source(10'000, 10'000, false);
  const Corpus corpus(source, false);
  Batch batch;
  for (auto _ : state) {
    const auto timeline = make_timeline(corpus, options_of(state), false, 1, 0);
    timeline->restore(corpus.total_samples() / 2 + 12345);
    timeline->next(256, 256, batch);
    benchmark::DoNotOptimize(batch.items.data());
  }
}

constexpr std::int64_t kFile = 0, kCntk = 1, kUniform = 2;
BENCHMARK(BM_Sweep)
    ->Args({kFile, 0})
    ->Args({kCntk, 128})
    ->Args({kCntk, 1000})
    ->Args({kUniform, 128})
    ->Args({kUniform, 1000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Restore)
    ->Args({kFile, 0})
    ->Args({kCntk, 128})
    ->Args({kUniform, 128})
    ->Args({kUniform, 10'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace batchfeed::order
