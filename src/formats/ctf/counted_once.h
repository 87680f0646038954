// SPDX-License-Identifier: MIT
//
// Sequences whose errors were counted: each counts once, however often and in whatever
// runs a file is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace batchfeed::ctf {

// A bit for each sequence. Thread-safe.
class CountedOnce {
 public:
  explicit CountedOnce(std::size_t sequences) : words_((sequences + 63) / 64) {}

  // Which sequences of a run were counted before it was claimed.
  struct Before {
    bool all = false, none = false;
    std::vector<bool> each = {};  // where it is neither

    bool operator[](std::size_t i) const { return each.empty() ? all : each[i]; }
  };

  // Marks sequences [first, last) as counted; returns which of them were before.
  Before claim(std::size_t first, std::size_t last) {
    const std::lock_guard lock(mutex_);
    Before before{.all = true, .none = true};
    over(first, last, [&](std::uint64_t& word, std::uint64_t mask) {
      before.all = before.all && (word & mask) == mask;
      before.none = before.none && (word & mask) == 0;
    });
    if (!before.all && !before.none) {
      for (std::size_t i = first; i < last; ++i) before.each.push_back((words_[i / 64] >> i % 64 & 1) != 0);
    }
    over(first, last, [](std::uint64_t& word, std::uint64_t mask) { word |= mask; });
    return before;
  }

  // The run [first, last) could be read up to `reached` only: restores the marks behind that.
  void give_back(std::size_t first, std::size_t reached, std::size_t last, const Before& before) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = reached; i < last; ++i) {
      if (!before[i - first]) words_[i / 64] &= ~(std::uint64_t{1} << i % 64);
    }
  }

 private:
  // Each word of the run, with its bits in it.
  template <class Each>
  void over(std::size_t first, std::size_t last, const Each& each) {
    for (std::size_t at = first; at < last;) {
      const std::size_t end = std::min(last, (at / 64 + 1) * 64);
      const std::uint64_t ones = end - at == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - at)) - 1;
      each(words_[at / 64], ones << at % 64);
      at = end;
    }
  }

  std::mutex mutex_;
  std::vector<std::uint64_t> words_;
};

}  // namespace batchfeed::ctf
