// SPDX-License-Identifier: MIT
//
// Collects names of a list, as a KeyTable numbers many at once faster than one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/text_list.h"
#include "model/key_table.h"

namespace batchfeed {

class WaitingNames {
 public:
  static constexpr std::size_t kMany = 1024;

  explicit WaitingNames(KeyTable& keys) : keys_(keys) {}

  // The key of a record until number() replaces it by its name's number. KeyMode::numeric: that number at once, or
  // nothing if the name is not a number.
  std::optional<std::uint64_t> add(std::string_view name) {
    if (keys_.mode() == KeyMode::numeric) return keys_.key(name);
    names_.add(name);
    return names_.size() - 1;
  }
  // Whether it is time for number().
  bool many() const noexcept { return names_.size() >= kMany; }
  // `records`: all whose names were added since the last call; some names may have none.
  template <class Record>
  void number(std::span<Record> records) {
    if (names_.empty()) return;
    const std::vector<std::uint64_t> ids = keys_.ids(names_);
    names_.clear();
    for (Record& record : records) record.key = ids[static_cast<std::size_t>(record.key)];
  }
  // The same for a list that grows: those behind the ones it had at the last call.
  template <class Record>
  void number_new(std::vector<Record>& all) {
    number(std::span(all).subspan(numbered_));
    numbered_ = all.size();
  }

 private:
  KeyTable& keys_;
  TextList names_;
  std::size_t numbered_ = 0;
};

}  // namespace batchfeed
