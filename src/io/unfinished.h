// SPDX-License-Identifier: MIT
//
// The temporary files that are being written, for code that ends the process at once.
#pragma once

#include <csignal>
#include <string>

namespace batchfeed::io {

// Lists a file while it lives; where there is no memory for one more, the file stays unlisted.
class Unfinished {
 public:
  struct Slot;
  struct Slots;

  // For a file that is about to be created under a name not yet known. Until list() gives the name, this thread takes
  // no signal that ends the process, and remove_unfinished() in other threads waits for it.
  Unfinished() noexcept;
  explicit Unfinished(const std::string& path) noexcept : Unfinished() { list(path); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();

  void list(const std::string& path) noexcept;

 private:
  static Slot* take() noexcept;
  void take_signals() noexcept;

  Slot* slot_ = nullptr;
  bool holds_back_ = false;
  ::sigset_t before_{};  // signals that were held back before
};

// Removes those that are listed. Async-signal-safe.
void remove_unfinished() noexcept;

}  // namespace batchfeed::io
