// SPDX-License-Identifier: MIT
#include "model/key_table.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/hash.h"

namespace batchfeed {

std::uint64_t KeyTable::id(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::uint64_t key = 0;
  ids({&text, 1}, {&key, 1});
  return key;
}

std::vector<std::uint64_t> KeyTable::ids(const TextList& texts) {
  std::vector<std::uint64_t> out(texts.size());
  std::array<std::string_view, 256> some;
  const std::lock_guard lock(mutex_);
  auto text = texts.begin();
  for (std::size_t i = 0; i < out.size();) {
    const std::size_t n = std::min(some.size(), out.size() - i);
    for (std::string_view& s : std::span(some).first(n)) {
      s = *text;
      ++text;
    }
    ids(std::span(some).first(n), std::span(out).subspan(i, n));
    i += n;
  }
  return out;
}

void KeyTable::ids(std::span<const std::string_view> texts, std::span<std::uint64_t> out) {
  texts_.numbers(texts, out);
  if (mode_ != KeyMode::hashed) return;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!collision_ && texts_[out[i]] != texts[i]) collision_.emplace(texts_[out[i]], texts[i]);
    out[i] = cntk_key_hash(texts[i]);
  }
}

void KeyTable::expect(std::uint64_t texts) {
  const std::lock_guard lock(mutex_);
  if (texts_.size() == 0) texts_.reserve(texts);
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

std::optional<std::string_view> KeyTable::find(std::uint64_t key) const {
  if (mode_ == KeyMode::text && key < texts_.size()) return texts_[key];
  if (mode_ != KeyMode::hashed) return std::nullopt;
  const std::optional<std::uint64_t> number = texts_.find_cntk_hash(key);
  return number ? std::optional(texts_[*number]) : std::nullopt;
}

std::string KeyTable::text(std::uint64_t key) const {
  if (mode_ == KeyMode::numeric) return std::to_string(key);
  const std::lock_guard lock(mutex_);
  const std::optional<std::string_view> found = find(key);
  return found ? std::string(*found) : std::to_string(key);
}

void KeyTable::append(std::uint64_t key, TextList& out) const {
  const std::lock_guard lock(mutex_);
  const std::optional<std::string_view> found = find(key);
  out.add(found ? *found : std::string_view(std::to_string(key)));
}

std::optional<std::pair<std::string, std::string>> KeyTable::collision() const {
  const std::lock_guard lock(mutex_);
  return collision_;
}

}  // namespace batchfeed
