// SPDX-License-Identifier: MIT
//
// The streams are those of streams.tsv, whatever the number of threads and whether
// the index comes from a cache. `golden_print > tests/golden/streams.tsv` makes the
// table anew; scripts/golden_matrix compares it with what other compilers make.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "golden/streams.h"

namespace batchfeed::golden {
namespace {

TEST(Golden, StreamsAreThoseOfTheTable) {
  std::map<std::string, std::string> table;
  std::ifstream file("tests/golden/streams.tsv");
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    table[line.substr(0, tab)] = line.substr(tab + 1);
  }
  const Folder folder;
  const std::vector<Line> all = runs(folder.path());
  ASSERT_GE(all.size(), 40u);
  EXPECT_EQ(table.size(), all.size());
  for (const Line& run : all) {
    for (const unsigned threads : {1u, 2u, 8u}) {
      EXPECT_EQ(hash_of(run.open(threads, threads != 1)), table[run.name]) << run.name << ", threads " << threads;
    }
    EXPECT_EQ(hash_of(run.open(1, true)), table[run.name]) << run.name << ", index from the cache";
  }
}

}  // namespace
}  // namespace batchfeed::golden
