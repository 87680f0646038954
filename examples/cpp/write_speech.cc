// SPDX-License-Identifier: MIT
//
// Writes HTK features and MLF labels from a program of one's own and reads them
// back, joined by key.
//
//   write_speech FOLDER
#include <batchfeed/reader.h>
#include <batchfeed/speech_writer.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// Ten utterances: 10 frames and more of two values, silence at both ends.
void write(const std::string& folder) {
  batchfeed::HtkWriter features(folder + "/example.scp", {.dim = 2});
  batchfeed::MlfWriter labels(folder + "/example.mlf", {.names = {"sil", "a"}});
  for (std::uint32_t u = 0; u < 10; ++u) {
    const std::uint32_t frames = 10 + u;
    std::vector<float> values;
    for (std::uint32_t t = 0; t < frames; ++t) {
      values.push_back(static_cast<float>(u));
      values.push_back(static_cast<float>(t));
    }
    const std::string key = "speaker/utterance" + std::to_string(u);
    features.append(key, frames, values.data());
    const batchfeed::MlfSegment segments[] = {
        {.label = 0, .frames = 2}, {.label = 1, .frames = frames - 4}, {.label = 0, .frames = 2}};
    labels.append(key, segments);
  }
  features.commit();
  labels.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_speech FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  try {
    write(folder);
    batchfeed::Setup setup;
    setup.sources = batchfeed::infer_speech({folder + "/example.scp", folder + "/example.mlf"});
    setup.reader.keys = batchfeed::KeyMode::text;
    batchfeed::Reader reader(setup);
    std::uint64_t frames = 0;
    while (const auto batch = reader.next()) frames += batch->num_samples;
    std::printf("%llu frames of %zu streams\n", static_cast<unsigned long long>(frames), reader.streams().size());
    return frames == 145 ? 0 : 1;
  } catch (const batchfeed::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
