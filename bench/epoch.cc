// SPDX-License-Identifier: MIT
//
// Whole epochs of a configured corpus through packed minibatches:
//   epoch CONFIG SECTION MINIBATCH_SIZE [EPOCHS [SETTING...]]
// Prints a line of JSON for opening (which includes the index), then one for each epoch: bytes of the corpus and of the
// minibatches, seconds of wall and of processor time, page faults, resident bytes, and the most bytes of chunks held
// so far.
#include <batchfeed/batchfeed.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

struct Usage {
  double wall, cpu;
  long faults;
};

Usage now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_minflt};
}

std::uint64_t bytes_of(const batchfeed::Minibatch& batch) {
  std::uint64_t bytes = 0;
  for (const batchfeed::StreamBatch& s : batch.streams)
    bytes += s.values.size() + s.indices.size() * sizeof s.indices[0];
  return bytes;
}

long resident_bytes() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: epoch CONFIG SECTION MINIBATCH_SIZE [EPOCHS [SETTING...]]\n", stderr);
    return 2;
  }
  try {
    batchfeed::ConfigRequest request{.files = {argv[1]}, .section = argv[2]};
    const int epochs = argc > 4 ? static_cast<int>(std::strtol(argv[4], nullptr, 10)) : 2;
    for (int i = 5; i < argc; ++i) request.set.emplace_back(argv[i]);
    const Usage start = now();
    batchfeed::Setup setup = batchfeed::load_config(request).setup;
    setup.reader.minibatch_size = {std::strtoull(argv[3], nullptr, 10)};
    batchfeed::Reader reader(setup);
    std::uint64_t bytes = 0;
    for (const batchfeed::ChunkInfo& chunk : reader.source().chunks()) bytes += chunk.bytes;
    const Usage opened = now();
    std::printf("{\"open\": %.6f, \"cpu\": %.6f}\n", opened.wall - start.wall, opened.cpu - start.cpu);
    batchfeed::Minibatch batch;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const Usage before = now();
      std::uint64_t samples = 0, minibatches = 0, delivered = 0;
      if (epoch > 0) reader.begin_epoch(static_cast<std::uint64_t>(epoch));
      for (; reader.next(batch); ++minibatches) {
        samples += batch.num_samples;
        delivered += bytes_of(batch);
      }
      const Usage after = now();
      std::printf(
          "{\"epoch\": %d, \"bytes\": %llu, \"samples\": %llu, \"minibatches\": %llu, \"delivered\": %llu, \"wall\": "
          "%.6f, "
          "\"cpu\": %.6f, \"MB/s\": %.0f, \"faults\": %ld, \"resident\": %ld, \"chunks\": %llu}\n",
          epoch, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(samples),
          static_cast<unsigned long long>(minibatches), static_cast<unsigned long long>(delivered),
          after.wall - before.wall, after.cpu - before.cpu,
          static_cast<double>(bytes) * 1e-6 / (after.wall - before.wall), after.faults - before.faults,
          resident_bytes(), static_cast<unsigned long long>(reader.memory_peak()));
    }
  } catch (const batchfeed::Error& error) {
    std::fprintf(stderr, "epoch: %s\n", error.what());
    return 1;
  }
}
