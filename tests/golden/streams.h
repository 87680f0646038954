// SPDX-License-Identifier: MIT
//
// Runs of every kind and format over corpora that are made anew, and the hash of each.
#pragma once

#include <batchfeed/reader.h>

#include <functional>
#include <string>
#include <vector>

namespace batchfeed::golden {

struct Line {
  std::string name;
  std::function<Reader(unsigned threads, bool cached)> open;
};

class Folder {  // with the corpora
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<Line> runs(const std::string& folder);
std::string hash_of(Reader reader);  // of its first minibatches, 16 digits

}  // namespace batchfeed::golden
