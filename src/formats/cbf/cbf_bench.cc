// SPDX-License-Identifier: MIT
//
// Reading chunks against the bare pread of the same bytes into a buffer that is
// used again. BATCHFEED_BENCH_CBF names the file; without it one is written:
// 45,000 dense samples of 784 + 10 values, about 143 MB.
#include <batchfeed/writer.h>
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/cbf/cbf.h"
#include "io/file.h"

namespace batchfeed::cbf {
namespace {

class Corpus {
 public:
  Corpus() {
    if (const char* given = std::getenv("BATCHFEED_BENCH_CBF"); given != nullptr) {
      path_ = given;
    } else {
      path_ = (std::filesystem::temp_directory_path() / ("batchfeed_bench_" + std::to_string(::getpid()) + ".cbf"))
                  .string();
      write();
      own_ = true;
    }
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    source_ = open({}, path_, context);
  }
  ~Corpus() {
    if (own_) std::filesystem::remove(path_);
  }
  const Source& source() const { return *source_; }
  const std::string& path() const { return path_; }
  static const Corpus& get() {
    static const Corpus corpus;
    return corpus;
  }

 private:
  void write() const {
    CbfWriter writer(path_, {.streams = {{.name = "features", .dim = 784}, {.name = "labels", .dim = 10}}});
    std::vector<float> values(784 + 10, 0.5f);
    const SequenceData sequence[] = {{.samples = 1, .values = values.data()},
                                     {.samples = 1, .values = values.data() + 784}};
    for (int i = 0; i < 45'000; ++i) writer.append(sequence);
    writer.commit();
  }

  std::string path_;
  bool own_ = false;
  std::unique_ptr<Source> source_;
};

void read_chunks(benchmark::State& state) {
  const Source& source = Corpus::get().source();
  Chunk chunk;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
      source.read(c, chunk);
      bytes += static_cast<std::int64_t>(source.chunks()[c].bytes);
      benchmark::DoNotOptimize(chunk.columns.data());
    }
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(read_chunks)->Unit(benchmark::kMillisecond);

void pread_same_bytes(benchmark::State& state) {
  const Source& source = Corpus::get().source();
  const io::File file(Corpus::get().path());
  Buffer<std::byte> buffer;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    std::uint64_t at = 12;
    for (const ChunkInfo& chunk : source.chunks()) {
      buffer.resize(static_cast<std::size_t>(chunk.bytes));
      file.read(at, {buffer.data(), buffer.size()});
      at += chunk.bytes;
      bytes += static_cast<std::int64_t>(chunk.bytes);
      benchmark::DoNotOptimize(buffer.data());
    }
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(pread_same_bytes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace batchfeed::cbf

BENCHMARK_MAIN();
