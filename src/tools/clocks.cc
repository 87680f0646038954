// SPDX-License-Identifier: MIT
#include "tools/clocks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

namespace batchfeed::clocks {

namespace {

double seconds(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The second number of a schedstat: nanoseconds in the queue for a core.
double core_wait_of(int fd) noexcept {
  char text[96];
  const ssize_t n = fd < 0 ? -1 : ::pread(fd, text, sizeof text, 0);
  if (n <= 0) return 0;
  const char* const end = text + n;
  const char* const blank = std::find(static_cast<const char*>(text), end, ' ');
  std::uint64_t ns = 0;
  if (blank != end) (void)std::from_chars(blank + 1, end, ns);
  return static_cast<double>(ns) * 1e-9;
}

class Schedstat {
 public:
  explicit Schedstat(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  Schedstat(const Schedstat&) = delete;
  Schedstat& operator=(const Schedstat&) = delete;
  ~Schedstat() {
    if (fd_ >= 0) ::close(fd_);
  }
  double core_wait() const noexcept { return core_wait_of(fd_); }

 private:
  int fd_;
};

}  // namespace

double wall() noexcept { return seconds(CLOCK_MONOTONIC); }
double process_cpu() noexcept { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double thread_cpu() noexcept { return seconds(CLOCK_THREAD_CPUTIME_ID); }

double thread_core_wait() noexcept {
  thread_local const Schedstat mine("/proc/thread-self/schedstat");  // opening costs more than reading
  return mine.core_wait();
}

double process_core_wait() noexcept {
  double sum = 0;
  std::error_code none;
  for (std::filesystem::directory_iterator at("/proc/self/task", none), end; !none && at != end; at.increment(none))
    sum += Schedstat((at->path() / "schedstat").c_str()).core_wait();
  return sum;
}

std::uint64_t thread_sleeps() noexcept {
#if defined(RUSAGE_THREAD)
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
#else
  return static_cast<std::uint64_t>(wall() * 1e9);  // not known: it may have slept
#endif
}

}  // namespace batchfeed::clocks
