// SPDX-License-Identifier: MIT
//
// Trains a classifier on a text corpus: points in the plane that lie around three centres, epoch after epoch in
// another order.
//
//   train_points points.ctf
#include <batchfeed/batchfeed.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>

namespace {

constexpr std::size_t kClasses = 3, kInputs = 3;  // x, y, and 1 for the bias

void write(const std::string& path) {
  constexpr float kCentres[kClasses][2] = {{0, 0}, {4, 1}, {1, 4}};
  std::mt19937 random(1);
  std::ofstream out(path);
  for (int i = 0; i < 3000; ++i) {
    const auto noise = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
    const int c = i % 3;
    out << "|point " << kCentres[c][0] + noise() << ' ' << kCentres[c][1] + noise() << " |class " << c << ":1\n";
  }
}

// Multinomial logistic regression, one step a minibatch.
struct Model {
  std::array<std::array<float, kInputs>, kClasses> weights{};

  // Returns how many of the minibatch were right before the step.
  std::size_t step(const batchfeed::StreamBatch& points, const batchfeed::StreamBatch& classes, float rate) {
    std::size_t right = 0;
    auto next = weights;
    for (std::uint64_t i = 0; i < points.samples(); ++i) {
      const float* const point = points.as<float>() + i * points.dim;
      const std::array<float, kInputs> input = {point[0], point[1], 1};
      std::array<float, kClasses> p{};
      float sum = 0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t k = 0; k < kInputs; ++k) p[c] += weights[c][k] * input[k];
        sum += p[c] = std::exp(p[c]);
      }
      // A sparse sample is its indices: here the one that is 1.
      const auto label = static_cast<std::size_t>(classes.indices[static_cast<std::size_t>(classes.sample_begin[i])]);
      bool best = true;
      for (std::size_t c = 0; c < kClasses; ++c) {
        best = best && p[c] <= p[label];
        const float error = p[c] / sum - (c == label ? 1.0f : 0.0f);
        for (std::size_t k = 0; k < kInputs; ++k) {
          next[c][k] -= rate * error * input[k] / static_cast<float>(points.samples());
        }
      }
      right += best ? 1 : 0;
    }
    weights = next;
    return right;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: train_points TARGET\n", stderr);
    return 2;
  }
  try {
    write(argv[1]);
    batchfeed::Setup setup;
    setup.sources.emplace_back(
        batchfeed::CtfOptions{.files = {argv[1]},
                              .streams = {{.name = "point", .dim = 2},
                                          {.name = "class", .storage = batchfeed::Storage::sparse, .dim = kClasses}}});
    setup.reader.minibatch_size = {64};
    batchfeed::Reader reader(std::move(setup));
    Model model;
    double share = 0;
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      reader.begin_epoch(epoch);
      std::uint64_t right = 0, seen = 0;
      while (const auto batch = reader.next()) {
        right += model.step((*batch)["point"], (*batch)["class"], 0.3f);
        seen += batch->num_samples;
      }
      share = static_cast<double>(right) / static_cast<double>(seen);
      std::printf("epoch %llu: %.1f %% right\n", static_cast<unsigned long long>(epoch), 100 * share);
    }
    return share > 0.95 ? 0 : 1;
  } catch (const batchfeed::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
