// SPDX-License-Identifier: MIT
#include "model/key_table.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace batchfeed {

std::uint64_t KeyTable::id(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (mode_ == KeyMode::hashed) {
    const std::uint64_t hash = cntk_key_hash(text);
    const auto [at, fresh] = hashed_.try_emplace(hash, text);
    if (!fresh && !collision_ && at->second != text) collision_.emplace(at->second, text);
    return hash;
  }
  return texts_.number(text);
}

std::optional<std::uint64_t> KeyTable::key(std::string_view name) {
  if (mode_ != KeyMode::numeric) return id(name);
  name.remove_prefix(std::min(name.find_first_not_of(" \t\v\f\r\n"), name.size()));
  const bool minus = name.starts_with('-');
  if (minus || name.starts_with('+')) name.remove_prefix(1);
  std::uint64_t number = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc()) return std::nullopt;
  return minus ? 0 - number : number;
}

std::string KeyTable::text(std::uint64_t key) const {
  const std::lock_guard lock(mutex_);
  if (mode_ == KeyMode::text && key < texts_.size()) return std::string(texts_[key]);
  if (mode_ == KeyMode::hashed) {
    if (const auto found = hashed_.find(key); found != hashed_.end()) return found->second;
  }
  return std::to_string(key);
}

std::optional<std::pair<std::string, std::string>> KeyTable::collision() const {
  const std::lock_guard lock(mutex_);
  return collision_;
}

}  // namespace batchfeed
