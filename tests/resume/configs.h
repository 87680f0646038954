// SPDX-License-Identifier: MIT
//
// Runs of every kind, by number, so that another process can open the same.
#pragma once

#include <batchfeed/reader.h>

#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::resume {

struct Config {
  std::string name;
  ReaderOptions options;
  enum class Data : std::uint8_t {
    text,        // two text files joined by key: dense and sparse, sequences of 1 to 9 samples
    frames,      // one text file of single samples
    utterances,  // sequences that are drawn frame by frame
    mixture,     // two text corpora
  } data = Data::text;
};

// At least 24; the folder has the files that write_data() made.
std::vector<Config> configs();
void write_data(const std::string& folder);
Reader open(const Config& config, const std::string& folder);

}  // namespace batchfeed::resume
