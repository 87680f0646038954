// SPDX-License-Identifier: MIT
//
// Converting text to binary, compared with only parsing the same text on as many threads, and with
// only writing as many bytes from a buffer. BATCHFEED_BENCH_CTF names the text,
// BATCHFEED_BENCH_TARGET the file to write (a file system in memory leaves the disk out of it).
#include <batchfeed/convert.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "io/atomic_file.h"
#include "tools/in_order.h"

namespace batchfeed {
namespace {

std::string setting(const char* name, const std::string& otherwise) {
  const char* const given = std::getenv(name);
  return given != nullptr ? given : otherwise;
}

const Source& corpus() {
  static const std::unique_ptr<Source> source = [] {
    const std::string path = setting("BATCHFEED_BENCH_CTF", "");
    CtfOptions options;
    options.files = {path};
    for (const Inferred::Stream& s : infer_ctf(path).streams) options.streams.push_back(s.spec);
    options.skip_sequence_ids = true;
    options.chunk_bytes = std::uint64_t{4} << 20;  // as the command does
    return open_source(options);
  }();
  return *source;
}

std::int64_t bytes() {
  std::int64_t sum = 0;
  for (const ChunkInfo& chunk : corpus().chunks()) sum += static_cast<std::int64_t>(chunk.bytes);
  return sum;
}

void parse_on_all_cores(benchmark::State& state) {
  const Source& source = corpus();
  const unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  for (auto _ : state) {
    in_order<Chunk>(
        source.chunks().size(), jobs,
        [&](std::uint64_t i, Chunk& chunk) { source.read(static_cast<std::uint32_t>(i), chunk); },
        [](std::uint64_t, const Chunk& chunk) { benchmark::DoNotOptimize(chunk.columns.data()); });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes());
}
BENCHMARK(parse_on_all_cores)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

std::string target_path() {
  return setting("BATCHFEED_BENCH_TARGET", (std::filesystem::temp_directory_path() / "batchfeed_bench.cbf").string());
}

void convert_on_all_cores(benchmark::State& state) {
  const Source& source = corpus();
  const std::string target = target_path();
  for (auto _ : state) convert(source, target, {.force = true});
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes());
  std::filesystem::remove(target);
}
BENCHMARK(convert_on_all_cores)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

void write_the_target(benchmark::State& state) {
  const std::string target = target_path();
  convert(corpus(), target, {.force = true});
  const std::uint64_t size = std::filesystem::file_size(target);
  const std::string block(std::size_t{1} << 20, 'x');
  for (auto _ : state) {
    io::AtomicFile file(target, {.durable = false});
    for (std::uint64_t at = 0; at < size; at += block.size())
      file.append(std::string_view(block).substr(
          0, static_cast<std::size_t>(std::min<std::uint64_t>(size - at, block.size()))));
    file.commit();
  }
  std::filesystem::remove(target);
}
BENCHMARK(write_the_target)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace batchfeed

BENCHMARK_MAIN();
