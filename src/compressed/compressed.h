// SPDX-License-Identifier: MIT
//
// Compressed files: which codec they have, where reading can begin in them, and
// the faults of damaged ones.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace batchfeed::compressed {

enum class Codec : std::uint8_t { none, gzip, zstd };

constexpr std::size_t kHeadBytes = 4;  // what codec_of() looks at

// By content: the first bytes of the file.
Codec codec_of(std::span<const std::byte> head) noexcept;
const char* name(Codec codec) noexcept;
// False: this batchfeed was built without the library.
bool supported(Codec codec) noexcept;

// The compressed bytes. `read` fills all of `out`; thread-safe; throws Error.
struct Stored {
  const std::string& path;
  std::uint64_t size;  // of a pipe: the bytes that came so far
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;
  // Set for a pipe: waits until `wanted` bytes from `at` on have come or it ends; returns how many of them there are.
  std::function<std::uint64_t(std::uint64_t at, std::uint64_t wanted)> wait = {};

  // How many of the `wanted` bytes from `at` on there are.
  std::uint64_t left(std::uint64_t at, std::uint64_t wanted) const {
    if (wait) return wait(at, wanted);
    return at >= size ? 0 : std::min(wanted, size - at);
  }
};

// A place where unpacking can begin.
struct Point {
  std::uint64_t compressed = 0;  // offset in the file of the first whole byte
  std::uint64_t unpacked = 0;    // offset in what it unpacks to
  std::uint32_t window = 0;      // gzip: number of the 32 KiB in front of it; 0 = a member begins here
  std::uint8_t bits = 0;         // gzip: bits of the byte before `compressed` that still belong to it
};

// These throw Error at a byte of the compressed file; the message says that it is not an unpacked byte.
[[noreturn]] void fail_damaged(const Stored& file, Codec codec, std::uint64_t byte, const std::string& why);
// Of zstd; what it says may be wrong while the frames are sound.
[[noreturn]] void fail_seek_table(const Stored& file, std::uint64_t byte, const std::string& why);
[[noreturn]] void fail_truncated(const Stored& file, Codec codec, std::uint64_t unpacked);
[[noreturn]] void fail_trailing(const Stored& file, Codec codec, std::uint64_t byte);
[[noreturn]] void fail_limit(const Stored& file, const std::string& what, const char* limit);
[[noreturn]] void fail_unsupported(const std::string& path, Codec codec);
[[noreturn]] void fail_memory();
// Throws Error (limit) if `unpacked`, the bytes that the file unpacks to, is more than the limits allow.
void check_size(const Stored& file, const Limits& limits, std::uint64_t unpacked);

}  // namespace batchfeed::compressed
