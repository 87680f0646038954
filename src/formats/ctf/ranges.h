// SPDX-License-Identifier: MIT
//
// A file in ranges of about one size, each read by a thread of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "io/file.h"

namespace batchfeed::ctf {

struct Ranges {
  std::uint64_t begin = 0, end = 0;
  std::size_t count = 1;

  // One for each thread, but none of less than `least` bytes; only one where reading out of order is slow.
  Ranges(const io::File& file, std::uint64_t from, std::uint64_t to, std::uint64_t least, unsigned threads)
      : begin(from), end(to) {
    const std::uint64_t most = file.is_slow_out_of_order() ? 1 : std::max(threads, 1u);
    count =
        static_cast<std::size_t>(std::clamp<std::uint64_t>((end - begin) / std::max<std::uint64_t>(least, 1), 1, most));
  }
  std::uint64_t border(std::size_t i) const noexcept { return i == count ? end : begin + (end - begin) / count * i; }
};

// part = read(begin, end, passed) of each range, in the order of the file. `passed(at)` says how far it is read, and
// `progress(bytes)` is told in this thread what that makes in all. Throws what the first of those that failed threw.
template <class Part, class Read, class Progress>
std::vector<Part> read_ranges(const Ranges& ranges, const Read& read, const Progress& progress) {
  std::vector<Part> parts(ranges.count);
  std::vector<std::exception_ptr> failed(ranges.count);
  std::atomic<std::uint64_t> done = 0;
  const auto work = [&](std::size_t i) {
    try {
      std::uint64_t last = ranges.border(i);
      parts[i] = read(ranges.border(i), ranges.border(i + 1), [&](std::uint64_t at) {
        const std::uint64_t sum = done += at - std::min(at, last);
        last = at;
        if (i == 0) progress(std::min(sum, ranges.end - ranges.begin));
      });
    } catch (...) {
      failed[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  std::size_t mine = 1 + start_threads(threads, ranges.count - 1, [&](std::size_t i) { work(i + 1); });
  work(0);
  for (; mine < ranges.count; ++mine) work(mine);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : failed) {
    if (e) std::rethrow_exception(e);
  }
  return parts;
}

}  // namespace batchfeed::ctf
