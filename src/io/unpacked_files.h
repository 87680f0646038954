// SPDX-License-Identifier: MIT
//
// Compressed files that were opened before: each is passed over once, whoever opens it.
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
    Limits limits;  // it was found within these
  };
  using Unpack = std::function<std::shared_ptr<const compressed::Unpacked>(std::size_t keep)>;

  explicit UnpackedFiles(std::size_t text_bytes) : room_(text_bytes) {}

  // The one of before, or a new one: `unpack` may keep so many bytes in memory.
  // Thread-safe; two that come at once for the same file may both unpack it.
  std::shared_ptr<const compressed::Unpacked> open(const Which& which, const Unpack& unpack);

 private:
  struct Known {
    Which which;
    std::shared_ptr<const compressed::Unpacked> unpacked;
  };

  std::mutex mutex_;
  std::size_t room_;                                 // for texts that are still to come
  std::size_t point_room_ = std::size_t{256} << 20;  // and points; files beyond are not known again
  std::vector<Known> known_;
};

}  // namespace batchfeed
