// SPDX-License-Identifier: MIT
//
// The plain loop over a corpus, for bench/python_loop.py to compare with:
//   loop FORM FILE MINIBATCH_SIZE EPOCHS            a corpus of one file
//   loop FORM CONFIG MINIBATCH_SIZE EPOCHS SECTION  what a section of a configuration names
// FORM: own, a minibatch of its own each time, as in README.md; or again, the memory of one minibatch again and
// again, the cheapest there is. In the file's order; for each epoch behind the first a line
//   {"samples": N, "wall": S, "cpu": S}
#include <batchfeed/batchfeed.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

batchfeed::Setup one_file(const char* path) {
  batchfeed::Setup setup;
  if (batchfeed::detect_format(path) == batchfeed::Format::cbf) {
    setup.sources.emplace_back(batchfeed::CbfOptions{.files = {path}});
  } else {
    batchfeed::CtfOptions options{.files = {path}};
    const batchfeed::Inferred inferred = batchfeed::infer_ctf(path);
    for (const auto& stream : inferred.streams) options.streams.push_back(stream.spec);
    options.skip_sequence_ids = !inferred.has_ids;
    setup.sources.emplace_back(std::move(options));
  }
  return setup;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const bool again = argv[1] == std::string_view("again");
  batchfeed::Setup setup =
      argc == 5 ? one_file(argv[2]) : batchfeed::load_config({.files = {argv[2]}, .section = argv[5]}).setup;
  setup.reader.order.kind = batchfeed::OrderKind::file;
  setup.reader.minibatch_size = {std::strtoull(argv[3], nullptr, 10)};
  batchfeed::Reader reader(std::move(setup));
  batchfeed::Minibatch one;
  const std::uint64_t epochs = std::strtoull(argv[4], nullptr, 10);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    unsigned long long samples = 0;
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    reader.begin_epoch(epoch);
    if (again) {
      while (reader.next(one)) samples += one.num_samples;
    } else {
      while (const auto batch = reader.next()) samples += batch->num_samples;
    }
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    if (epoch == 0) continue;  // it fills the file cache
    std::printf("{\"samples\": %llu, \"wall\": %.6f, \"cpu\": %.6f}\n", samples, wall, cpu);
  }
}
