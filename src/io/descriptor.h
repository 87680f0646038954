// SPDX-License-Identifier: MIT
//
// Descriptors of files that are read. A corpus may have more files than a process may hold open, so those that
// nobody reads at the moment are closed where there are too many, and opened again when they are needed.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "io/identity.h"

namespace batchfeed::io {

// Closes a file that nobody reads. False: there is none.
bool close_an_idle_file() noexcept;

// Lives while a thread opens a file to read, until it is in the list of those that can be closed: threads that find no
// free descriptor meanwhile wait for it.
class Opening {
 public:
  Opening() noexcept;
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
};

// How often files were closed, or an opening ended: a descriptor may have become free.
std::uint64_t closings() noexcept;
// Closes a file that nobody reads; where other threads read all of them, or open one, it waits for them a little.
// False: there is none to wait for, and none was closed since closings() was `seen`. `own`: the Openings of this
// thread.
bool make_room(int own, std::uint64_t seen) noexcept;

// What open() returns, a descriptor or -1 and errno; called again after an interrupt, and for want of descriptors as
// long as make_room() finds a file to close.
template <class Open>
int open_making_room(const Open& open, int own = 0) {
  for (;;) {
    const std::uint64_t seen = closings();
    const int fd = open();
    if (fd >= 0) return fd;
    const int error = errno;
    if (error == EINTR || ((error == EMFILE || error == ENFILE) && make_room(own, seen))) continue;
    errno = error;
    return -1;
  }
}

// A descriptor for reading what lies there, or -1 and errno.
int open_to_read(const std::string& place, int flags, const Opening& opening) noexcept;

// An open file. Thread-safe, but for the constructor and the destructor.
class Descriptor {
 public:
  // Owns `fd`, which open_to_read(place, flags, ..) gave. Faults name the file `path`.
  Descriptor(int fd, std::string place, int flags, std::string path, const Identity& identity) noexcept;
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Keeps the file open as long as it lives.
  class Use {
   public:
    explicit Use(const Descriptor& of) : of_(of) { of_.begin_use(); }
    ~Use() { of_.users_.fetch_sub(1, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    int fd() const noexcept { return of_.fd_; }

   private:
    const Descriptor& of_;
  };
  // Opens it if it is closed; throws Error(io) if it cannot be, and Error(stale) if it is no longer the same file.
  Use use() const { return Use(*this); }

  const std::string& place() const noexcept { return place_; }
  int flags() const noexcept { return flags_; }

 private:
  friend class OpenFiles;
  static constexpr int kClosed = -1;

  void begin_use() const;
  bool try_use() const noexcept;
  // Closes it if it is open and nobody reads it.
  bool close_if_idle() const noexcept;

  const std::string place_;
  const int flags_;
  const std::string path_;
  const Identity identity_;
  mutable std::atomic<int> users_{0};  // or kClosed
  mutable int fd_;                     // changes only while users_ is kClosed
  // The list of OpenFiles: those that are open, the one opened last at its end.
  mutable const Descriptor* before_ = nullptr;
  mutable const Descriptor* behind_ = nullptr;
};

}  // namespace batchfeed::io
