// SPDX-License-Identifier: MIT
#include "base/seeded_hash.h"

#include <chrono>

#include "base/hash.h"

namespace batchfeed {

std::uint64_t table_seed() noexcept {
  // The time of the first call and, by ASLR, the addresses of stack and code: nobody can predict them.
  static const std::uint64_t seed = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return Fingerprint()
        .add(static_cast<std::uint64_t>(now))
        .add(std::uint64_t{reinterpret_cast<std::uintptr_t>(&now)})
        .add(std::uint64_t{reinterpret_cast<std::uintptr_t>(&table_seed)})
        .value();
  }();
  return seed;
}

std::size_t SeededHash::operator()(std::uint64_t key) const noexcept {
  return static_cast<std::size_t>(hash_bytes(&key, sizeof key, seed));
}
std::size_t SeededHash::operator()(std::string_view text) const noexcept {
  return static_cast<std::size_t>(hash_text(text, seed));
}

}  // namespace batchfeed
