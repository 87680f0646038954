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

// A small file of /proc, kept open and read anew for each number.
class Figures {
 public:
  explicit Figures(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;
  ~Figures() {
    if (fd_ >= 0) ::close(fd_);
  }
  // The number behind the first blank; 0 if there is none.
  std::uint64_t second() const noexcept {
    char text[96];
    const ssize_t n = fd_ < 0 ? -1 : ::pread(fd_, text, sizeof text, 0);
    if (n <= 0) return 0;
    const char* const end = text + n;
    const char* const blank = std::find(static_cast<const char*>(text), end, ' ');
    std::uint64_t number = 0;
    if (blank != end) (void)std::from_chars(blank + 1, end, number);
    return number;
  }

 private:
  int fd_;
};

// Seconds in the queue for a core: the second number of a schedstat file, in nanoseconds.
double core_wait(const Figures& schedstat) noexcept { return static_cast<double>(schedstat.second()) * 1e-9; }

}  // namespace

double wall() noexcept { return seconds(CLOCK_MONOTONIC); }
double process_cpu() noexcept { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double thread_cpu() noexcept { return seconds(CLOCK_THREAD_CPUTIME_ID); }

double thread_core_wait() noexcept {
  thread_local const Figures mine("/proc/thread-self/schedstat");  // opening costs more than reading
  return core_wait(mine);
}

double process_core_wait() noexcept {
  double sum = 0;
  std::error_code none;
  for (std::filesystem::directory_iterator at("/proc/self/task", none), end; !none && at != end; at.increment(none))
    sum += core_wait(Figures((at->path() / "schedstat").c_str()));
  return sum;
}

std::uint64_t process_read() noexcept { return Figures("/proc/self/io").second(); }  // begins "rchar: 123"

std::uint64_t thread_sleeps() noexcept {
#if defined(RUSAGE_THREAD)
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
#else
  return static_cast<std::uint64_t>(wall() * 1e9);  // not known: a new number each time, as if it had slept
#endif
}

}  // namespace batchfeed::clocks
