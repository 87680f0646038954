// SPDX-License-Identifier: MIT
//
// A few open files out of many: a corpus may have a file for each utterance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "io/file.h"

namespace batchfeed::io {

// Values of type T that hold an open file each, by the file's number; the least
// recently used ones are closed. Thread-safe. A value handed out stays open as
// long as it is held, so at most `capacity` plus one per reading thread are.
template <class T>
class FileCache {
 public:
  using Make = std::function<T(std::uint32_t)>;  // opens file number n; throws Error

  explicit FileCache(Make make, std::size_t capacity = 8) : capacity_(capacity), make_(std::move(make)) {}

  std::shared_ptr<const T> open(std::uint32_t number) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = at_.find(number); found != at_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().second;
      }
      while (entries_.size() >= capacity_) drop_last();
    }
    auto fresh = std::make_shared<const T>(make_(number));
    const std::lock_guard lock(mutex_);
    if (!at_.contains(number)) {
      entries_.emplace_front(number, fresh);
      at_[number] = entries_.begin();
    }
    return fresh;
  }

 private:
  using Entry = std::pair<std::uint32_t, std::shared_ptr<const T>>;

  void drop_last() {
    at_.erase(entries_.back().first);
    entries_.pop_back();
  }

  std::size_t capacity_;
  Make make_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::uint32_t, typename std::list<Entry>::iterator> at_;
};

}  // namespace batchfeed::io
