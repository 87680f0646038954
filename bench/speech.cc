// SPDX-License-Identifier: MIT
//
// Reading and packing HTK features, compared to bare loops that move the same bytes, in one run:
//
//   speech_bench [LIST.scp] [--runs N]
//
// Without a list it writes a corpus of 1.6 million frames of 40 values first. Each
// figure is the median of N runs, which take turns; times are processor time of
// all threads, so that other jobs of the machine count less.
#include <batchfeed/batchfeed.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "draws.h"

namespace {

using namespace batchfeed;

constexpr std::uint32_t kSide = 5;  // frames on each side: windows of 11

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string make_corpus() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "batchfeed_speech_bench";
  std::filesystem::create_directories(folder);
  const std::string list = (folder / "bench.scp").string();
  if (std::filesystem::exists(list)) return list;
  HtkWriter writer(list, {.dim = 40});
  Draws draws;
  std::vector<float> values;
  for (int u = 0; writer.frames() < 1'600'000; ++u) {
    const std::uint64_t frames = 200 + draws.below(600);
    values.resize(static_cast<std::size_t>(frames) * 40);
    for (float& v : values) v = static_cast<float>(draws.below(65536)) / 8192.0f - 4.0f;
    writer.append("utt" + std::to_string(u), frames, values.data());
  }
  writer.commit();
  return list;
}

HtkOptions features(const std::string& list, bool window) {
  HtkOptions options;
  options.name = "features";
  options.scp_files = {list};
  if (window) options.context = {{kSide, kSide}};
  return options;
}

volatile float sink;  // takes results, so that the compiler keeps the loops

// The archive's bytes, read in chunks as large as the source's and swapped.
void read_and_swap(const std::string& archive, const Source& source, std::vector<std::uint32_t>& buffer) {
  const int fd = ::open(archive.c_str(), O_RDONLY);
  ::off_t at = 12;
  for (const ChunkInfo& chunk : source.chunks()) {
    buffer.resize(static_cast<std::size_t>(chunk.bytes / 4));
    // In blocks of 256 KiB, small enough to be in the CPU's cache still when they are swapped.
    for (std::size_t done = 0; done < buffer.size();) {
      const std::size_t n = std::min<std::size_t>(buffer.size() - done, std::size_t{1} << 16);
      if (::pread(fd, buffer.data() + done, 4 * n, at) != static_cast<::ssize_t>(4 * n)) std::abort();
      for (std::size_t i = done; i < done + n; ++i) buffer[i] = __builtin_bswap32(buffer[i]);
      done += n;
      at += static_cast<::off_t>(4 * n);
    }
  }
  ::close(fd);
  sink = std::bit_cast<float>(buffer[0]);
}

void read_all(const Source& source, Chunk& chunk) {
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) source.read(c, chunk);
}

// All chunks in memory, and every window in a shuffled order.
struct Windows {
  std::vector<Chunk> chunks;
  std::vector<const float*> order;
  std::size_t values = 0;  // of a window

  explicit Windows(const Source& source) : chunks(source.chunks().size()) {
    for (std::uint32_t c = 0; c < chunks.size(); ++c) {
      source.read(c, chunks[c]);
      const Column& column = chunks[c].columns[0];
      values = static_cast<std::size_t>(column.dim);
      for (std::uint32_t r = 0; r + 1 < column.first_sample.size(); ++r) {
        for (std::uint32_t t = 0; t < column.samples(r); ++t)
          order.push_back(column.as<float>() + column.begin[r] + t * column.step);
      }
    }
    Draws draws;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.next() % i]);
  }
};

void gather(const Windows& windows, std::size_t minibatch, std::vector<float>& out) {
  out.resize(minibatch * windows.values);
  for (std::size_t from = 0; from < windows.order.size(); from += minibatch) {
    const std::size_t to = std::min(from + minibatch, windows.order.size());
    for (std::size_t i = from; i < to; ++i)
      std::memcpy(out.data() + (i - from) * windows.values, windows.order[i], windows.values * sizeof(float));
  }
  sink = out[0];
}

// One epoch of packed minibatches, of windows as samples or of whole utterances.
void epoch(const std::string& list, bool frames, bool shuffled, std::uint64_t minibatch) {
  Setup setup;
  setup.sources = {features(list, true)};
  setup.reader.keys = KeyMode::text;
  setup.reader.order.kind = shuffled ? OrderKind::cntk : OrderKind::file;
  setup.reader.order.window = kWholeSet;
  setup.reader.order.window_in_samples = true;
  setup.reader.pack.kind = frames ? Packing::frames : Packing::sequences;
  setup.reader.minibatch_size = {minibatch};
  Reader reader(setup);
  while (const auto batch = reader.next()) sink = batch->streams[0].as<float>()[0];
}

struct Stage {
  std::string name;
  std::function<void()> work;
  std::vector<double> seconds = {};

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string list;
  int runs = 5;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else {
      list = argv[i];
    }
  }
  try {
    if (list.empty()) list = make_corpus();
    const auto plain = open_source(features(list, false), {}, {}, KeyMode::text);
    const auto windowed = open_source(features(list, true), {}, {}, KeyMode::text);
    const std::string archive = plain->place(0, 0).file;
    std::uint64_t frames = 0;
    for (const ChunkInfo& chunk : plain->chunks()) frames += chunk.samples;
    std::vector<std::uint32_t> buffer;
    Chunk chunk;
    const Windows windows(*windowed);
    std::vector<float> out;
    std::vector<Stage> stages = {
        {"pread and byte swap", [&] { read_and_swap(archive, *plain, buffer); }},
        {"source: utterances to float32", [&] { read_all(*plain, chunk); }},
        {"bare gather of shuffled windows, 512", [&] { gather(windows, 512, out); }},
        {"epoch: utterances in order, 8192", [&] { epoch(list, false, false, 8192); }},
        {"epoch: utterances shuffled, 8192", [&] { epoch(list, false, true, 8192); }},
        {"epoch: frames in order, 512", [&] { epoch(list, true, false, 512); }},
        {"epoch: frames shuffled, 512", [&] { epoch(list, true, true, 512); }},
    };
    for (int run = 0; run < runs; ++run) {
      for (Stage& stage : stages) {
        const double began = processor_seconds();
        stage.work();
        stage.seconds.push_back(processor_seconds() - began);
      }
    }
    const double swap = stages[0].median(), bare = stages[2].median();
    std::printf("%llu frames of %llu values, windows of %u\n\n", static_cast<unsigned long long>(frames),
                static_cast<unsigned long long>(plain->streams()[0].dim), 2 * kSide + 1);
    std::printf("%-40s %10s %12s %8s\n", "", "ms", "M frames/s", "ratio");
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const double seconds = stages[i].median();
      const double limit = i < 2 ? swap : i == 6 ? swap + bare : bare;
      std::printf("%-40s %10.1f %12.2f %8.2f\n", stages[i].name.c_str(), seconds * 1e3,
                  static_cast<double>(frames) / seconds * 1e-6, limit / seconds);
    }
    std::printf("\nratio: of pread and byte swap; of the gather; for shuffled frames of both together\n");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
