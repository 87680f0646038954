// SPDX-License-Identifier: MIT
//
// Remembers compressed files that were opened, so that the pass over each is made only once.
#pragma once

#include <batchfeed/files.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"

namespace batchfeed {

class UnpackedFiles {
 public:
  struct Which {
    std::string path;
    io::Identity identity;
    Limits limits;  // within which it is unpacked
  };
  using Unpack = std::function<std::shared_ptr<const compressed::Unpacked>(std::size_t keep)>;

  explicit UnpackedFiles(std::size_t text_bytes) : room_(text_bytes) {}

  // The file, if it is remembered; else what unpack(keep) gives, which may keep `keep`
  // bytes of text in memory. Thread-safe; two threads at once may both unpack a file.
  std::shared_ptr<const compressed::Unpacked> open(const Which& which, const Unpack& unpack);

 private:
  struct Known {
    Which which;
    std::shared_ptr<const compressed::Unpacked> unpacked;
  };

  std::mutex mutex_;
  std::size_t room_;                                 // bytes left for texts
  std::size_t point_room_ = std::size_t{256} << 20;  // bytes left for points; files beyond are not remembered
  std::vector<Known> known_;
};

}  // namespace batchfeed
