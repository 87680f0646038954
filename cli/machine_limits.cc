// SPDX-License-Identifier: MIT
#include "machine_limits.h"

#include <batchfeed/error.h>
#include <fast_float/fast_float.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

namespace batchfeed::cli {

namespace {

constexpr std::size_t kPiece = 1u << 20;

// Results are written here, so that the compiler does not drop the work that is measured.
volatile std::uint64_t sink = 0;

template <class Work>
double rate(std::uint64_t bytes, const Work& work) {
  double best = 0;
  for (int round = 0; round < 3; ++round) {  // the best of three, as other programs use the machine, too
    const auto began = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (seconds > 0) best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

std::uint64_t read_into(const std::string& path, std::string& memory, std::uint64_t most, double& seconds) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw Error(Fault{.kind = FaultKind::io,
                      .id = "io.open",
                      .at = {.file = path},
                      .what = fmt::format("cannot open: {}", std::strerror(errno))});
  }
  const std::size_t start = memory.size();
  std::uint64_t at = 0;
  while (at < most) {
    memory.resize(start + at + kPiece);
    const auto began = std::chrono::steady_clock::now();
    const ssize_t n = ::pread(fd, memory.data() + start + at, kPiece, static_cast<off_t>(at));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (n <= 0) break;
    at += static_cast<std::uint64_t>(n);
  }
  ::close(fd);
  memory.resize(start + std::min(at, most));
  return std::min(at, most);
}

// Reads the files again, into memory that is mapped already, so that only reading is measured.
void read_again(const std::vector<std::string>& files, std::uint64_t most) {
  std::vector<char> piece(kPiece);
  std::uint64_t left = most;
  for (const std::string& path : files) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    for (off_t at = 0; left > 0;) {
      const ssize_t n = ::pread(fd, piece.data(), kPiece, at);
      if (n <= 0) break;
      at += n;
      left -= std::min(left, static_cast<std::uint64_t>(n));
    }
    ::close(fd);
  }
}

std::uint64_t count_lines(const std::string& text) {
  std::uint64_t lines = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (const void* feed = std::memchr(p, '\n', static_cast<std::size_t>(end - p))) {
    ++lines;
    p = static_cast<const char*>(feed) + 1;
  }
  return lines;
}

// The least that a reader of text must do: finds the numbers, and converts them exactly.
std::uint64_t convert_numbers(const std::string& text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  std::uint64_t numbers = 0;
  float value = 0, sum = 0;
  while (p != end) {
    if (static_cast<unsigned char>(*p - '0') >= 10) {
      ++p;
      continue;
    }
    p = fast_float::from_chars(p, end, value).ptr;
    sum += value;
    ++numbers;
  }
  return numbers + (sum > 0 ? 1 : 0);
}

// Whether a file is compressed, as the library decides it internally: gzip, a frame of zstd, or a skippable frame.
bool is_compressed(std::string_view head) {
  if (head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd")) return true;
  return !head.empty() && (head[0] & 0xF0) == 0x50 && head.substr(1).starts_with("\x2a\x4d\x18");
}

}  // namespace

MachineLimits measure_limits(const std::vector<std::string>& files, std::uint64_t bytes) {
  std::string memory;
  double seconds = 0;
  for (const std::string& path : files) {
    if (memory.size() >= bytes) break;
    read_into(path, memory, bytes - memory.size(), seconds);
  }
  MachineLimits limits;
  const std::uint64_t n = memory.size();
  if (n == 0) return limits;
  limits.compressed = is_compressed(memory);
  if (seconds > 0) limits.first = static_cast<double>(n) / seconds;
  limits.read = rate(n, [&] { read_again(files, n); });
  limits.newline = rate(n, [&] { sink = count_lines(memory); });
  limits.number = rate(n, [&] { sink = convert_numbers(memory); });
  std::string copy(memory.size(), '\0');
  limits.copy = rate(n, [&] {
    std::memcpy(copy.data(), memory.data(), memory.size());
    sink = static_cast<unsigned char>(copy[copy.size() / 2]);
  });
  return limits;
}

}  // namespace batchfeed::cli
