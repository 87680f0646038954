// SPDX-License-Identifier: MIT
//
// The table of streams as this program, made by some compiler, finds it; the number
// of threads may be given.
#include <cstdio>
#include <string>

#include "golden/streams.h"

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(std::stoul(argv[1])) : 1;
  const batchfeed::golden::Folder folder;
  for (const batchfeed::golden::Line& run : batchfeed::golden::runs(folder.path()))
    std::printf("%s\t%s\n", run.name.c_str(), batchfeed::golden::hash_of(run.open(threads, false)).c_str());
  return 0;
}
