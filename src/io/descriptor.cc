// SPDX-License-Identifier: MIT
#include "io/descriptor.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "io/file.h"
#include "io/identity.h"
#include "io/sys.h"

namespace batchfeed::io {

// All descriptors of the process that are open, in the order in which they were opened. Thread-safe.
class OpenFiles {
 public:
  static OpenFiles& get() noexcept {
    static OpenFiles* const all = make();
    return *all;
  }

  void begin_opening() noexcept {
    const std::lock_guard lock(mutex_);
    ++opening_;
  }
  void end_opening() noexcept {
    const std::lock_guard lock(mutex_);
    --opening_;
    ++closings_;
  }

  void add(const Descriptor& file) noexcept {
    const std::lock_guard lock(mutex_);
    link(file);
    close_too_many(file);
  }

  // A file that was closed, opened by `fd` for the first who reads it. False if another thread has done so before: then
  // it is open for this one, too, without `fd`.
  bool add_again(const Descriptor& file, int fd) noexcept {
    const std::lock_guard lock(mutex_);
    if (file.try_use()) return false;
    file.fd_ = fd;
    file.users_.store(1, std::memory_order_release);
    link(file);
    close_too_many(file);
    return true;
  }

  // For good, if it is open.
  void close(const Descriptor& file) noexcept {
    const std::lock_guard lock(mutex_);
    if (file.users_.load(std::memory_order_relaxed) == Descriptor::kClosed) return;
    sys().close(file.fd_);
    unlink(file);
  }

  bool close_one() noexcept {
    const std::lock_guard lock(mutex_);
    return close_idle();
  }

  std::uint64_t closings() const noexcept { return closings_.load(std::memory_order_acquire); }

  bool make_room(int own, std::uint64_t seen) noexcept {
    std::unique_lock lock(mutex_);
    if (close_idle() || closings() != seen) return true;
    // Reads and openings end by themselves, as none of them waits for a descriptor; only the openings that wait here,
    // as this thread does, do not count, or all would wait for each other.
    if (first_ == nullptr && opening_ - waiting_ == own) return false;
    waiting_ += own;
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
    waiting_ -= own;
    return true;
  }

 private:
  static constexpr std::size_t kLeast = 8;

  // So that a forked child does not find the mutex locked by a thread it does not have, nor waits for one.
  static OpenFiles* make() noexcept {
    ::pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().begin_child(); });
    alignas(OpenFiles) static std::byte room[sizeof(OpenFiles)];  // lives as long as any file may
    return new (room) OpenFiles;
  }

  // The thread that forked, the only one here, neither reads nor opens a file at that moment.
  void begin_child() noexcept {
    for (const Descriptor* at = first_; at != nullptr; at = at->behind_) at->users_ = 0;
    opening_ = waiting_ = 0;
    mutex_.unlock();
  }

  // With the lock held.
  bool close_idle() noexcept {
    for (const Descriptor* at = first_; at != nullptr; at = at->behind_) {
      if (!at->close_if_idle()) continue;
      unlink(*at);
      return true;
    }
    return false;
  }

  // Closes idle files where there are more than we should take from others in the process.
  void close_too_many(const Descriptor& fresh) noexcept {
    const std::size_t most = this->most();
    for (const Descriptor* at = first_; at != nullptr && count_ > most;) {
      const Descriptor* const next = at->behind_;
      if (at != &fresh && at->close_if_idle()) unlink(*at);
      at = next;
    }
  }

  static std::size_t most() noexcept {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
    return std::max<std::size_t>(kLeast, static_cast<std::size_t>(limit.rlim_cur) / 2);
  }

  void link(const Descriptor& file) noexcept {
    file.before_ = last_;
    file.behind_ = nullptr;
    (last_ != nullptr ? last_->behind_ : first_) = &file;
    last_ = &file;
    ++count_;
  }

  void unlink(const Descriptor& file) noexcept {
    (file.before_ != nullptr ? file.before_->behind_ : first_) = file.behind_;
    (file.behind_ != nullptr ? file.behind_->before_ : last_) = file.before_;
    --count_;
    ++closings_;
  }

  std::mutex mutex_;
  const Descriptor* first_ = nullptr;
  const Descriptor* last_ = nullptr;
  std::size_t count_ = 0;
  int opening_ = 0;  // Openings there are
  int waiting_ = 0;  // of them for a descriptor
  std::atomic<std::uint64_t> closings_{0};
};

bool close_an_idle_file() noexcept { return OpenFiles::get().close_one(); }
std::uint64_t closings() noexcept { return OpenFiles::get().closings(); }
bool make_room(int own, std::uint64_t seen) noexcept { return OpenFiles::get().make_room(own, seen); }

Opening::Opening() noexcept { OpenFiles::get().begin_opening(); }
Opening::~Opening() { OpenFiles::get().end_opening(); }

int open_to_read(const std::string& place, int flags, const Opening&) noexcept {
  if (place.find('\0') != place.npos) {  // the system would open what stands in front of it
    errno = ENOENT;
    return -1;
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer; regular files ignore it.
  return open_making_room([&] { return sys().open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags, 0); }, 1);
}

Descriptor::Descriptor(int fd, std::string place, int flags, std::string path, const Identity& identity) noexcept
    : place_(std::move(place)), flags_(flags), path_(std::move(path)), identity_(identity), fd_(fd) {
  OpenFiles::get().add(*this);
}

Descriptor::~Descriptor() { OpenFiles::get().close(*this); }

bool Descriptor::try_use() const noexcept {
  int users = users_.load(std::memory_order_relaxed);
  while (users != kClosed) {
    if (users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void Descriptor::begin_use() const {
  if (try_use()) return;
  // Without a lock: in a forked child the thread that held it would not exist. Who opens it first has it open for all.
  const Opening opening;
  const int fd = open_to_read(place_, flags_, opening);
  if (fd < 0) fail("open", path_, errno);
  try {
    const Identity now = identify(fd, path_);
    if (now != identity_) fail_changed(path_, "while it was being read", identity_, now);
  } catch (...) {
    sys().close(fd);
    throw;
  }
  if (!OpenFiles::get().add_again(*this, fd)) sys().close(fd);
}

bool Descriptor::close_if_idle() const noexcept {
  const int fd = fd_;
  int nobody = 0;
  if (!users_.compare_exchange_strong(nobody, kClosed, std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  sys().close(fd);
  return true;
}

}  // namespace batchfeed::io
