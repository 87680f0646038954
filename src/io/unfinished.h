// SPDX-License-Identifier: MIT
//
// The temporary files that are being written, for who ends the process at once.
#pragma once

#include <cstddef>
#include <string>

namespace batchfeed::io {

// Lists a file while it lives; where there is no room for one more, the file stays unlisted.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path) noexcept;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();

 private:
  std::size_t slot_;
};

// Removes those that are listed. Async-signal-safe.
void remove_unfinished() noexcept;

}  // namespace batchfeed::io
