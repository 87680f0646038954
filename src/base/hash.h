// SPDX-License-Identifier: MIT
//
// The 64-bit hash of fingerprints and checksums (XXH3), and CNTK's hash of keys.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchfeed {

inline std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(data, size, seed);
}
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) noexcept {
  return hash_bytes(text.data(), text.size(), seed);
}

// hash_bytes() of what comes piece by piece.
class RunningHash {
 public:
  RunningHash() noexcept { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t size) noexcept { XXH3_64bits_update(&state_, data, size); }
  std::uint64_t value() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

// Hash of a running list of numbers and texts; order matters.
class Fingerprint {
 public:
  Fingerprint& add(std::uint64_t value) noexcept {
    hash_ = hash_bytes(&value, sizeof value, hash_);
    return *this;
  }
  Fingerprint& add(std::string_view text) noexcept {
    hash_ = hash_text(text, hash_ + 0x9E3779B97F4A7C15ull);
    return *this;
  }
  std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

// The key hash of CNTK (minibatch.md 2.3): bytes count as signed.
constexpr std::uint64_t cntk_key_hash(std::string_view key) noexcept {
  std::uint64_t h = 5381;
  for (const char c : key)
    h = (h * 33) ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<signed char>(c)));
  return h;
}

}  // namespace batchfeed
