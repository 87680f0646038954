// SPDX-License-Identifier: MIT
//
// The plain loop over a corpus, to which bench/python_loop.py compares others; an epoch for each line of its input:
//   loop FORM FILE MINIBATCH_SIZE            a corpus of one file
//   loop FORM CONFIG MINIBATCH_SIZE SECTION  what a section of a configuration names
// FORM: own, next() returns a new minibatch each time, as in README.md; again, next(batch) always fills the same
// minibatch, the cheapest loop; or held, it fills two in turns, and one is held while the other is filled. In the
// file's order. Prints for each epoch, with seconds of wall and of processor time:
//   {"samples": N, "wall": S, "cpu": S}
#include <batchfeed/batchfeed.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

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
  if (argc != 4 && argc != 5) return 2;
  const std::string_view form = argv[1];
  batchfeed::Setup setup =
      argc == 4 ? one_file(argv[2]) : batchfeed::load_config({.files = {argv[2]}, .section = argv[4]}).setup;
  setup.reader.order.kind = batchfeed::OrderKind::file;
  setup.reader.minibatch_size = {std::strtoull(argv[3], nullptr, 10)};
  batchfeed::Reader reader(std::move(setup));
  batchfeed::Minibatch one, held;
  char line[16];
  for (std::uint64_t epoch = 0; std::fgets(line, sizeof line, stdin) != nullptr; ++epoch) {
    unsigned long long samples = 0;
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    reader.begin_epoch(epoch);
    if (form == "again") {
      while (reader.next(one)) samples += one.num_samples;
    } else if (form == "held") {
      for (; reader.next(one); std::swap(one, held)) samples += one.num_samples;
    } else {
      while (const auto batch = reader.next()) samples += batch->num_samples;
    }
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    std::printf("{\"samples\": %llu, \"wall\": %.6f, \"cpu\": %.6f}\n", samples, wall, cpu);
    std::fflush(stdout);
  }
}
