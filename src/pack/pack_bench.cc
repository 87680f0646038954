// SPDX-License-Identifier: MIT
//
// Packing of rows in random order beside a bare loop of memcpy over the same rows
// into one buffer, by processor time:
//   gather/BYTES, pack/BYTES   256 rows at a time out of a window of 32 MB
//   gather/windows             512 windows of 11 speech frames of 40 values, which overlap, out of 256 MB
//   pack/windows, pack/labels  the same packed; and with a one-hot label for each frame
// Bytes are those of the rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "pack/pack.h"

namespace batchfeed::pack {
namespace {

constexpr std::uint32_t kChunks = 8;
constexpr std::uint32_t kFrames = 500;  // of an utterance
constexpr std::uint32_t kFrame = 40;    // values
constexpr std::uint32_t kWindow = 11;   // frames
constexpr std::uint64_t kLabels = 200;

// Chunks in memory and all of their samples in random order.
struct Corpus {
  std::vector<StreamInfo> streams;
  std::vector<Chunk> chunks{kChunks};
  std::vector<Slice> order;
  std::size_t minibatch = 256;

  void shuffle() {
    std::uint64_t state = 1;
    for (std::size_t i = order.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(order[i - 1], order[static_cast<std::size_t>(state >> 33) % i]);
    }
  }
  std::span<const Slice> batch(std::size_t from) const {
    return {order.data() + from, std::min(minibatch, order.size() - from)};
  }
};

void fill(Column& column, std::size_t values) {
  column.values.resize(values * sizeof(float));
  std::memset(column.values.data(), 1, column.values.size());
}

const Plain kPlain[] = {{.samples = true}}, kWithLabels[] = {{}, {.values = true}};
// Sequences of one sample.
Corpus rows_of(std::size_t bytes) {
  Corpus out;
  const std::size_t dim = bytes / sizeof(float);
  out.streams = {{.name = "x", .dim = dim}};
  const auto rows = static_cast<std::uint32_t>((std::size_t{32} << 20) / kChunks / bytes);
  for (Chunk& chunk : out.chunks) {
    chunk.reset(out.streams);
    Column& column = chunk.columns[0];
    fill(column, rows * dim);
    for (std::uint32_t r = 0; r < rows; ++r) {
      column.begin.push_back(r * dim);
      column.first_sample.push_back(r + 1);
      out.order.push_back({&chunk, r, 0, Slice::kAll, kPlain});
    }
  }
  out.shuffle();
  return out;
}

void append_labels(Column& column, std::uint32_t frames) {
  for (std::uint32_t i = 0; i < frames; ++i) {
    const float one = 1;
    column.values.append(reinterpret_cast<const std::byte*>(&one), sizeof one);
    column.indices.push_back(static_cast<std::int32_t>(i % kLabels));
    column.first_value.push_back(column.first_value.back() + 1);
  }
  column.first_sample.push_back(column.first_sample.back() + frames);
}

// Utterances whose frames are drawn one by one.
Corpus frames_with(bool labels) {
  Corpus out;
  out.minibatch = 512;
  out.streams = {{.name = "features", .dim = std::uint64_t{kWindow} * kFrame}};
  if (labels) out.streams.push_back({.name = "labels", .dim = kLabels, .storage = Storage::sparse});
  constexpr std::size_t kUtterance = std::size_t{kFrames + kWindow - 1} * kFrame;  // values, edges repeated
  const auto utterances = static_cast<std::uint32_t>((std::size_t{256} << 20) / kChunks / sizeof(float) / kUtterance);
  for (Chunk& chunk : out.chunks) {
    chunk.reset(out.streams);
    Column& column = chunk.columns[0];
    column.step = kFrame;
    fill(column, utterances * kUtterance);
    for (std::uint32_t r = 0; r < utterances; ++r) {
      column.begin.push_back(r * kUtterance);
      column.first_sample.push_back(column.first_sample.back() + kFrames);
      if (labels) append_labels(chunk.columns[1], kFrames);
      for (std::uint32_t i = 0; i < kFrames; ++i) out.order.push_back({&chunk, r, i, 1, kWithLabels});
    }
  }
  out.shuffle();
  return out;
}

const Corpus& corpus(const std::string& name) {
  static std::map<std::string, Corpus> all;
  if (const auto found = all.find(name); found != all.end()) return found->second;
  Corpus made = name == "windows" || name == "labels" ? frames_with(name == "labels") : rows_of(std::stoul(name));
  return all.emplace(name, std::move(made)).first->second;
}

void count_bytes(benchmark::State& state, const Corpus& corpus) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(corpus.order.size() * corpus.streams[0].dim * sizeof(float)));
}

void gather(benchmark::State& state, const std::string& name) {
  const Corpus& from = corpus(name);
  std::vector<const std::byte*> places;
  for (const Slice& slice : from.order) {
    const Column& column = slice.chunk->columns[0];
    places.push_back(column.values.data() + (column.begin[slice.row] + slice.first * column.step) * sizeof(float));
  }
  const std::size_t row = static_cast<std::size_t>(from.streams[0].dim) * sizeof(float);
  Buffer<std::byte> out;
  out.resize(from.minibatch * row);
  std::memset(out.data(), 0, out.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < places.size(); ++i) std::memcpy(out.data() + i % from.minibatch * row, places[i], row);
    benchmark::DoNotOptimize(out.data());
  }
  count_bytes(state, from);
}

void pack_all(benchmark::State& state, const std::string& name) {
  const Corpus& from = corpus(name);
  Scratch scratch;
  scratch.far = from.minibatch == 512;
  Minibatch batch;
  for (auto _ : state) {
    for (std::size_t i = 0; i < from.order.size(); i += from.minibatch) {
      if (from.minibatch == 512) {
        frames(from.streams, from.batch(i), scratch, batch);
      } else {
        sequences(from.streams, from.batch(i), scratch, batch);
      }
    }
    benchmark::DoNotOptimize(batch.streams.data());
  }
  count_bytes(state, from);
}

int add_all() {
  for (const char* name : {"3136", "400", "160", "windows"})
    benchmark::RegisterBenchmark(("gather/" + std::string(name)).c_str(), gather, name)->Unit(benchmark::kMillisecond);
  for (const char* name : {"3136", "400", "160", "windows", "labels"})
    benchmark::RegisterBenchmark(("pack/" + std::string(name)).c_str(), pack_all, name)->Unit(benchmark::kMillisecond);
  return 0;
}

const int added = add_all();

}  // namespace
}  // namespace batchfeed::pack
