// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/faulty_sys.h"
#include "tools/testing.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::binary_source;
using ::batchfeed::testing::refusal;
using ::batchfeed::testing::ScratchFolder;

std::unique_ptr<Source> in_lines(const std::string& file) {
  CtfOptions options;
  options.files = {file};
  options.streams = {{.name = "F", .dim = 2}, {.name = "S", .storage = Storage::sparse, .dim = 5}};
  return open_source(options);
}

std::string rows_of_one_to_four(int sequences) {
  std::string out;
  for (int s = 0; s < sequences; ++s) {
    for (int r = 0; r <= s % 4; ++r) {
      const std::string row = std::to_string(r);
      out += std::to_string(s) + " |F " + std::to_string(s) + '.' + row + " -" + row + " |S " + std::to_string(s % 5) +
             ":1\n";
    }
  }
  return out;
}

// Users must be able to make the same file again.
TEST(Shuffle, TheOrderOfASeedStays) {
  const ScratchFolder folder;
  const auto source = in_lines(folder.write("a.ctf", rows_of_one_to_four(12)));
  for (const auto& [memory, order] : std::map<std::uint64_t, std::vector<std::uint64_t>>{
           {1 << 20, {4, 5, 11, 0, 9, 1, 3, 6, 2, 7, 8, 10}}, {300, {5, 7, 4, 11, 9, 0, 2, 1, 6, 10, 3, 8}}}) {
    for (const Format to : {Format::ctf, Format::cbf}) {
      convert(*source, folder / "b",
              {.to = to, .keys = ConvertOptions::Keys::keep, .shuffle = 5, .shuffle_memory = memory, .force = true});
      const auto back = to == Format::ctf ? in_lines(folder / "b") : binary_source(folder / "b");
      std::vector<SequenceInfo> table;
      back->sequences(0, table);
      std::vector<std::string> found, expected;
      for (const SequenceInfo& s : table) found.push_back(back->key_text(s.key));
      for (const std::uint64_t key : order) expected.push_back(std::to_string(key));
      EXPECT_EQ(found, expected) << memory;
    }
  }
}

TEST(Shuffle, OneWhoseOwnFilesAreCutIsTold) {
  const ScratchFolder folder;
  const auto source = in_lines(folder.write("a.ctf", rows_of_one_to_four(500)));
  for (const ConvertOptions::Keys keys : {ConvertOptions::Keys::keep, ConvertOptions::Keys::none}) {
    for (const std::uint64_t left : {0u, 11u, 15u, 100u}) {
      bool cut = false;
      ConvertOptions options{.keys = keys, .shuffle = 1, .shuffle_memory = 4000};
      // Truncates the second bucket while the first is written to the target.
      options.progress = [&](std::uint64_t done, std::uint64_t all) {
        if (cut || done < all / 2) return;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
          if (entry.path().filename() != "1.names") continue;
          std::filesystem::resize_file(entry.path(), left);
          cut = true;
        }
      };
      EXPECT_EQ(refusal(*source, folder / "b", options), "io.read");
      EXPECT_TRUE(cut);
      EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ctf"});
    }
  }
}

// Where the caller raised a limit to read the corpus, no hint to raise it could help with files of our own.
TEST(Shuffle, ReadsItsOwnFilesWhateverTheLimits) {
  const ScratchFolder folder;
  CtfOptions options;
  std::string line;
  for (int s = 0; s < 1100; ++s) {
    const std::string name = "s" + std::to_string(s);
    line += (s == 0 ? "|" : " |") + name + " 1";
    options.streams.push_back({.name = name, .dim = 1});
  }
  options.files = {folder.write("a.ctf", line + '\n' + line + '\n')};
  Limits limits;
  limits.streams = 2000;
  const auto source = open_source(options, limits);
  const ConvertResult result = convert(*source, folder / "b.cbf", {.shuffle = 1, .verify = true});
  EXPECT_EQ(result.sequences, 2u);
  EXPECT_TRUE(result.verified);
}

}  // namespace
}  // namespace batchfeed
