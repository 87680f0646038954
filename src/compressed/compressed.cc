// SPDX-License-Identifier: MIT
#include "compressed/compressed.h"

#include <new>
#include <utility>

#include "base/counted.h"
#include "base/saturate.h"

namespace batchfeed::compressed {

namespace {

constexpr std::uint64_t kAnyRatio = 64u << 20;  // up to so many unpacked bytes no ratio is refused

[[noreturn]] void fail(const Stored& file, const char* id, std::uint64_t byte, std::string what, std::string hint) {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = id,
                    .at = {.file = file.path, .byte = byte, .has_byte = true},
                    .what = std::move(what),
                    .hint = std::move(hint)});
}

}  // namespace

Codec codec_of(std::span<const std::byte> head) noexcept {
  const auto byte = [&](std::size_t i) { return i < head.size() ? std::to_integer<unsigned>(head[i]) : 256u; };
  // gzip: magic, deflate, no reserved flag.
  if (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8 && byte(3) < 0x20) return Codec::gzip;
  if (byte(0) == 0x28 && byte(1) == 0xb5 && byte(2) == 0x2f && byte(3) == 0xfd) return Codec::zstd;
  // A skippable frame, which parallel compressors write in front of the first zstd frame.
  if (byte(0) >= 0x50 && byte(0) <= 0x5f && byte(1) == 0x2a && byte(2) == 0x4d && byte(3) == 0x18) return Codec::zstd;
  return Codec::none;
}

bool supported(Codec codec) noexcept {
  switch (codec) {
    case Codec::none: return true;
    case Codec::gzip: return BATCHFEED_WITH_ZLIB != 0;
    case Codec::zstd: return BATCHFEED_WITH_ZSTD != 0;
  }
  return false;
}

const char* name(Codec codec) noexcept {
  switch (codec) {
    case Codec::none: return "plain";
    case Codec::gzip: return "gzip";
    case Codec::zstd: return "zstd";
  }
  return "plain";
}

void fail_damaged(const Stored& file, Codec codec, std::uint64_t byte, const std::string& why) {
  fail(file, "compressed.damaged", byte,
       std::string("the ") + name(codec) + " file is damaged near this byte of the compressed file: " + why,
       std::string("fetch it again; ") + (codec == Codec::gzip ? "gzip -t" : "zstd -t") + " should say the same");
}

void fail_seek_table(const Stored& file, std::uint64_t byte, const std::string& why) {
  fail(file, "compressed.damaged", byte, "the zstd file is damaged near this byte of the compressed file: " + why,
       "fetch it again; if zstd -d, which does not look at the table, unpacks it, compress that anew");
}

void fail_truncated(const Stored& file, Codec codec, std::uint64_t unpacked) {
  fail(file, "compressed.truncated", file.size,
       std::string("the ") + name(codec) + " file ends in the middle, after " + std::to_string(unpacked) +
           " unpacked bytes",
       "it was cut short; fetch it again");
}

void fail_trailing(const Stored& file, Codec codec, std::uint64_t byte) {
  fail(file, "compressed.trailing", byte,
       "from this byte of the compressed file on there is something else behind the " + std::string(name(codec)) +
           " data",
       "cut it off there, or compress the parts alike");
}

void fail_limit(const Stored& file, const std::string& what, const char* limit) {
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.unpacked",
                    .at = {.file = file.path},
                    .what = what,
                    .hint = std::string("if you trust it, raise limits.") + limit});
}

void fail_unsupported(const std::string& path, Codec codec) {
  throw Error(
      Fault{.kind = FaultKind::io,
            .id = "compressed.unsupported",
            .at = {.file = path},
            .what = std::string("is compressed with ") + name(codec) + ", which this batchfeed was built without",
            .hint = std::string("unpack it first, or build batchfeed with ") +
                    (codec == Codec::gzip ? "zlib (zlib1g-dev)" : "zstd (libzstd-dev)")});
}

void fail_memory() { throw std::bad_alloc(); }

void check_size(const Stored& file, const Limits& limits, std::uint64_t unpacked) {
  if (unpacked > limits.unpacked_bytes) {
    fail_limit(file, "unpacks to more than " + counted(limits.unpacked_bytes, "byte"), "unpacked_bytes");
  }
  if (unpacked > kAnyRatio && unpacked > mul_sat(file.size, limits.unpack_ratio)) {
    fail_limit(file, "unpacks to more than " + std::to_string(limits.unpack_ratio) + " times its size", "unpack_ratio");
  }
}

}  // namespace batchfeed::compressed
