// SPDX-License-Identifier: MIT
//
// System calls that fail on demand: while a FaultySys lives, batchfeed's calls
// pass through it. It counts and logs them, lets some fail, and shortens reads and writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "io/sys.h"

namespace batchfeed::testing {

struct Call {
  std::string name;          // "open", "pread", ...
  std::string path;          // of calls with a descriptor: the path behind it
  std::uint64_t number = 0;  // among the calls of all names, from 1
};

class FaultySys {
 public:
  // The errno with which a call fails; 0 lets it through. Called with a lock held, so one call at a time.
  using Rule = std::function<int(const Call&)>;

  explicit FaultySys(Rule rule = nullptr);
  ~FaultySys();
  FaultySys(const FaultySys&) = delete;
  FaultySys& operator=(const FaultySys&) = delete;

  // Reads and writes move at most this many bytes at once.
  void at_most(std::size_t bytes) { at_most_ = bytes; }

  std::uint64_t calls() const { return calls_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::vector<Call> log() const;
  std::vector<std::string> names() const;  // of the log

 private:
  friend struct Hooks;
  int decide(const char* name, const std::string& path);
  std::string path_of(int fd) const;

  Rule rule_;
  std::size_t at_most_ = ~std::size_t{0};
  std::atomic<std::uint64_t> calls_ = 0, bytes_read_ = 0;
  mutable std::mutex mutex_;
  std::vector<Call> log_;
};

// Call number n fails, once.
FaultySys::Rule nth_call(std::uint64_t n, int error);
// All calls of that name fail.
FaultySys::Rule every(std::string name, int error);

// Open descriptors of this process.
std::size_t open_descriptors();

// A folder that is deleted with its content.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  // Both write a file and return its path; write_unseen() keeps the modification time that the file had.
  std::string write(const std::string& name, const std::string& content) const;
  std::string write_unseen(const std::string& name, const std::string& content) const;
  std::vector<std::string> names() const;  // of the files in it, sorted

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::string& path);

}  // namespace batchfeed::testing
