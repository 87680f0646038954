// SPDX-License-Identifier: MIT
//
// Writes a binary corpus from a program of one's own and reads it back.
//
//   write_cbf squares.cbf
#include <batchfeed/reader.h>
#include <batchfeed/writer.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// Sequences of 1 to 4 samples: a dense pair (x, x * x), and for each sample the
// indices of its decimal digits with how often they occur.
void write(const std::string& path) {
  batchfeed::CbfWriter writer(path, {.streams = {{.name = "pair", .dim = 2},
                                                 {.name = "digits", .dim = 10, .storage = batchfeed::Storage::sparse}},
                                     .keys = true});
  int x = 0;
  for (int sequence = 0; sequence < 100; ++sequence) {
    std::vector<float> pairs, counts;
    std::vector<std::int32_t> digits;
    std::vector<std::uint32_t> entries;
    const std::uint32_t samples = 1 + static_cast<std::uint32_t>(sequence) % 4;
    for (std::uint32_t i = 0; i < samples; ++i, ++x) {
      pairs.push_back(static_cast<float>(x));
      pairs.push_back(static_cast<float>(x) * static_cast<float>(x));
      const std::size_t before = digits.size();
      const std::string text = std::to_string(x);
      for (char digit = '0'; digit <= '9'; ++digit) {
        float n = 0;
        for (const char c : text) n += c == digit ? 1.0f : 0.0f;
        if (n == 0) continue;
        digits.push_back(digit - '0');
        counts.push_back(n);
      }
      entries.push_back(static_cast<std::uint32_t>(digits.size() - before));
    }
    const batchfeed::SequenceData data[] = {
        {.samples = samples, .values = pairs.data()},
        {.samples = samples, .values = counts.data(), .indices = digits.data(), .entries = entries.data()}};
    writer.append(data, "squares/" + std::to_string(sequence));
  }
  writer.commit();  // until here there is no file of that name
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_cbf TARGET\n", stderr);
    return 2;
  }
  try {
    write(argv[1]);
    batchfeed::Setup setup;
    setup.sources.emplace_back(batchfeed::CbfOptions{.files = {argv[1]}});
    batchfeed::Reader reader(std::move(setup));
    std::uint64_t samples = 0;
    while (const auto batch = reader.next()) samples += batch->num_samples;
    std::printf("%s: %llu samples\n", argv[1], static_cast<unsigned long long>(samples));
    return samples == 250 ? 0 : 1;
  } catch (const batchfeed::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
