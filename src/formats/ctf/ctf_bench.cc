// SPDX-License-Identifier: MIT
//
// Text to columns on one core, beside limits measured in the same run:
//   BATCHFEED_BENCH_DATA=DIR formats_ctf_bench     (DIR: of *.ctf, such as bench/make_inputs.py writes)
//   floor/NAME   a bare loop of fast_float over the same bytes in memory
//   read/NAME    page cache to parsed chunk, index known
//   lines/NAME   read() of 256 KiB blocks and a count of newlines: the floor of an index
//   ids/NAME     read() of such blocks, memchr to each line's end and its id: likewise, for short lines
//   index/NAME   the index
// Bytes are bytes of text; rates are by CPU time.
#include <benchmark/benchmark.h>
#include <fast_float/fast_float.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"

namespace {

using namespace batchfeed;

std::string path_of(const std::string& name) {
  const char* const folder = std::getenv("BATCHFEED_BENCH_DATA");
  return (std::filesystem::path(folder == nullptr ? "." : folder) / (name + ".ctf")).string();
}

const std::map<std::string, std::vector<std::string>>& inputs() {
  static const std::map<std::string, std::vector<std::string>> all = [] {
    std::map<std::string, std::vector<std::string>> out;
    for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path_of("")).parent_path())) {
      if (file.path().extension() != ".ctf") continue;
      const std::string name = file.path().stem();
      std::vector<std::string>& streams = out[name];
      for (const Inferred::Stream& s : ctf::infer(io::File(path_of(name)), 8 << 20).streams) {
        const bool sparse = s.spec.storage == Storage::sparse;
        streams.push_back(s.spec.name + (sparse ? ":s" : ":d") +
                          std::to_string(sparse ? std::max<std::uint64_t>(s.spec.dim, 1'000'000) : s.spec.dim));
      }
    }
    return out;
  }();
  return all;
}

// What any reader must do at least: find the values, convert them one by one.
std::uint64_t bare_loop(const char* p, const char* end, float* values, std::int32_t* indices, std::size_t room) {
  std::size_t n = 0;
  while (p < end) {
    if (*p != '|') {
      ++p;
      continue;
    }
    if (p[1] == '#') {
      p = ctf::find_pipe_or_newline(p + 1);
      continue;
    }
    while (*p != ' ' && *p != '\n') ++p;
    for (;;) {
      while (*p == ' ') ++p;
      if (*p == '|' || static_cast<unsigned char>(*p) < ' ') break;
      if (n == room) n = 0;
      std::uint32_t index = 0;
      const char* q = p;
      while (ctf::is_digit(*q)) index = index * 10 + static_cast<std::uint32_t>(*q++ - '0');
      if (*q == ':') {
        indices[n] = static_cast<std::int32_t>(index);
        p = q + 1;
      }
      p = fast_float::from_chars(p, end, values[n++]).ptr;
    }
  }
  return n;
}

void floor_loop(benchmark::State& state, const std::string& name) {
  const io::File file(path_of(name));
  Buffer<char> text;
  text.resize(static_cast<std::size_t>(file.size()));
  file.read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  const std::string_view all(text.data(), text.size());
  if (all.find(" +") != std::string_view::npos || all.find(":+") != std::string_view::npos) {
    state.SkipWithError("fast_float reads no plus, and the bare loop would not end");
    return;
  }
  Buffer<float> values;
  Buffer<std::int32_t> indices;
  values.resize(1 << 20);
  indices.resize(1 << 20);
  std::fill(values.begin(), values.end(), 0.0F);  // the first touch of memory is nothing of a parser's floor
  std::fill(indices.begin(), indices.end(), 0);
  for (auto _ : state)
    benchmark::DoNotOptimize(bare_loop(text.begin(), text.end(), values.data(), indices.data(), values.size()));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(file.size()));
}

CtfOptions options_of(const std::string& name) {
  CtfOptions options = ctf::options_for(inputs().at(name));
  options.element = Element::f32;
  return options;
}

void read_chunks(benchmark::State& state, const std::string& name) {
  const ctf::CtfSource source(options_of(name), path_of(name), ctf::quiet_context());
  Chunk chunk;
  source.read(0, chunk);
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
      source.read(c, chunk);
      bytes += source.chunks()[c].bytes;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

// Bytes added up as bytes, which compilers make vectors of; std::count is three times as slow.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
std::int64_t
newlines(const char* p, std::size_t n) {
  std::int64_t sum = 0;
  std::size_t i = 0;
  for (; i + 128 <= n; i += 128) {
    std::uint8_t part = 0;
    for (std::size_t k = 0; k < 128; ++k) part = static_cast<std::uint8_t>(part + (p[i + k] == '\n' ? 1 : 0));
    sum += part;
  }
  return sum + std::count(p + i, p + n, '\n');
}

void count_lines(benchmark::State& state, const std::string& name) {
  const io::File file(path_of(name));
  Buffer<char> block;
  block.resize(256 << 10);
  std::int64_t lines = 0;
  for (auto _ : state) {
    for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file.size() - at));
      file.read(at, std::as_writable_bytes(std::span(block.data(), n)));
      lines += newlines(block.data(), n);
    }
  }
  benchmark::DoNotOptimize(lines);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(file.size()));
}

void find_ids(benchmark::State& state, const std::string& name) {
  const io::File file(path_of(name));
  Buffer<char> block;
  block.resize((256 << 10) + 64);
  std::uint64_t ids = 0, last = 0;
  for (auto _ : state) {
    for (std::uint64_t at = 0; at < file.size();) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(256 << 10, file.size() - at));
      file.read(at, std::as_writable_bytes(std::span(block.data(), n)));
      const char* p = block.data();
      const char* const end = p + n;
      while (const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)))) {
        std::uint64_t id = 0;
        for (const char* q = p; ctf::is_digit(*q); ++q) id = id * 10 + static_cast<std::uint64_t>(*q - '0');
        ids += id != last ? 1 : 0;
        last = id;
        p = newline + 1;
      }
      at += p == block.data() ? n : static_cast<std::size_t>(p - block.data());
    }
  }
  benchmark::DoNotOptimize(ids);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(file.size()));
}

void make_index(benchmark::State& state, const std::string& name) {
  const CtfOptions options = options_of(name);
  const io::File file(path_of(name));
  for (auto _ : state) {
    const ctf::CtfSource source(options, path_of(name), ctf::quiet_context());
    benchmark::DoNotOptimize(source.chunks().data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(file.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const auto& [name, streams] : inputs()) {
    benchmark::RegisterBenchmark(("floor/" + name).c_str(), floor_loop, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("read/" + name).c_str(), read_chunks, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("lines/" + name).c_str(), count_lines, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("ids/" + name).c_str(), find_ids, name)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("index/" + name).c_str(), make_index, name)->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
