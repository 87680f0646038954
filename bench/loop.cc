// SPDX-License-Identifier: MIT
//
// The plain loop over a corpus, for bench/python_loop.py to compare with:
//   loop FILE MINIBATCH_SIZE EPOCHS  ->  for each epoch behind the first a line
//   {"samples": N, "wall": S, "cpu": S}
// in the file's order.
#include <batchfeed/batchfeed.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  batchfeed::Setup setup;
  if (batchfeed::detect_format(argv[1]) == batchfeed::Format::cbf) {
    setup.sources.emplace_back(batchfeed::CbfOptions{.files = {argv[1]}});
  } else {
    batchfeed::CtfOptions options{.files = {argv[1]}};
    const batchfeed::Inferred inferred = batchfeed::infer_ctf(argv[1]);
    for (const auto& stream : inferred.streams) options.streams.push_back(stream.spec);
    options.skip_sequence_ids = !inferred.has_ids;
    setup.sources.emplace_back(std::move(options));
  }
  setup.reader.order.kind = batchfeed::OrderKind::file;
  setup.reader.minibatch_size = {std::strtoull(argv[2], nullptr, 10)};
  batchfeed::Reader reader(std::move(setup));
  batchfeed::Minibatch batch;
  const std::uint64_t epochs = std::strtoull(argv[3], nullptr, 10);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    unsigned long long samples = 0;
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    reader.begin_epoch(epoch);
    while (reader.next(batch)) samples += batch.num_samples;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    if (epoch == 0) continue;  // it fills the file cache
    std::printf("{\"samples\": %llu, \"wall\": %.6f, \"cpu\": %.6f}\n", samples, wall, cpu);
  }
}
