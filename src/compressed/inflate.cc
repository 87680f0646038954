// SPDX-License-Identifier: MIT
#include "compressed/inflate.h"

#if BATCHFEED_WITH_ZLIB

#include <zlib.h>

#include <algorithm>
#include <array>

#include "compressed/piece.h"

namespace batchfeed::compressed {

namespace {
constexpr int kRaw = -15, kGzip = 15 + 16;  // zlib's names for the two forms of 32 KiB windows
constexpr std::size_t kTrailer = 8;         // CRC and size behind a member
// Zeros that may stand behind the last one: more than any block of a tape, and soon looked through.
constexpr std::uint64_t kMostPadding = 64u << 20;
}  // namespace

struct Inflater::State {
  z_stream z{};
  Piece piece;
  std::uint64_t at = 0;
  bool raw = false;  // begun inside a member, whose trailer zlib does not see then
  bool end = false;
  bool block_end = false;

  State() {
    if (inflateInit2(&z, kGzip) != Z_OK) fail_memory();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { inflateEnd(&z); }

  // Behind a member: another one, the end, or zeros up to the end, as tapes have.
  void next_member(const Stored& file) {
    if (raw) {
      for (std::size_t i = 0; i < kTrailer; ++i) {
        if (!piece.fill(file)) fail_truncated(file, Codec::gzip, at);
        piece.take(1);
      }
    }
    raw = false;
    if (!piece.fill(file)) {
      end = true;
      return;
    }
    std::array<std::byte, kHeadBytes> head{};
    if (codec_of(piece.peek(file, head)) != Codec::gzip) {
      const std::uint64_t begin = piece.position();
      for (std::uint64_t zeros = 0; piece.fill(file); piece.take(1), ++zeros) {
        if (piece.left().front() != std::byte{0} || zeros == kMostPadding) fail_trailing(file, Codec::gzip, begin);
      }
      end = true;
      return;
    }
    if (inflateReset2(&z, kGzip) != Z_OK) fail_memory();
  }

  std::size_t step(const Stored& file, std::span<std::byte> out, int flush) {
    std::size_t done = 0;
    block_end = false;
    while (done < out.size() && !end && !block_end) {
      if (!piece.fill(file)) fail_truncated(file, Codec::gzip, at);
      z.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(piece.left().data()));  // zlib only reads
      z.avail_in = static_cast<uInt>(piece.left().size());
      const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - done, 1u << 30));
      z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      z.avail_out = room;
      const int code = ::inflate(&z, flush);
      piece.take(piece.left().size() - z.avail_in);
      const std::size_t n = room - z.avail_out;
      done += n;
      at += n;
      if (code == Z_STREAM_END) {
        next_member(file);
      } else if (code == Z_MEM_ERROR) {
        fail_memory();
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        fail_damaged(file, Codec::gzip, piece.position(), z.msg != nullptr ? z.msg : "no deflate data");
      } else if (flush == Z_BLOCK && (z.data_type & 128) != 0 && (z.data_type & 64) == 0) {
        block_end = true;
      }
    }
    return done;
  }
};

Inflater::Inflater() : state_(std::make_unique<State>()) {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

void Inflater::start(const Stored& file, const Point& point, std::span<const std::byte> window) {
  State& s = *state_;
  s.raw = point.window != 0;
  s.end = s.block_end = false;
  s.at = point.unpacked;
  s.piece.start(point.compressed);
  if (inflateReset2(&s.z, s.raw ? kRaw : kGzip) != Z_OK) fail_memory();
  if (!s.raw) {
    s.end = file.left(point.compressed, 1) == 0;
    return;
  }
  if (point.bits != 0) {
    std::byte before{};
    file.read(point.compressed - 1, {&before, 1});
    inflatePrime(&s.z, point.bits, std::to_integer<int>(before) >> (8 - point.bits));
  }
  inflateSetDictionary(&s.z, reinterpret_cast<const Bytef*>(window.data()), static_cast<uInt>(window.size()));
}

std::size_t Inflater::decode(const Stored& file, std::span<std::byte> out) {
  return state_->step(file, out, Z_NO_FLUSH);
}
std::size_t Inflater::decode_block(const Stored& file, std::span<std::byte> out) {
  return state_->step(file, out, Z_BLOCK);
}
bool Inflater::at_point() const noexcept { return state_->block_end; }
Point Inflater::point() const noexcept {
  // Behind a gzip header zlib says it is at the end of a block as well.
  return {.compressed = state_->piece.position(),
          .unpacked = state_->at,
          .bits = static_cast<std::uint8_t>(state_->z.data_type & 7)};
}
std::uint64_t Inflater::at() const noexcept { return state_->at; }
bool Inflater::at_end() const noexcept { return state_->end; }

}  // namespace batchfeed::compressed

#else

namespace batchfeed::compressed {

struct Inflater::State {};
Inflater::Inflater() = default;
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;
void Inflater::start(const Stored&, const Point&, std::span<const std::byte>) {}
std::size_t Inflater::decode(const Stored&, std::span<std::byte>) { return 0; }
std::size_t Inflater::decode_block(const Stored&, std::span<std::byte>) { return 0; }
bool Inflater::at_point() const noexcept { return false; }
Point Inflater::point() const noexcept { return {}; }
std::uint64_t Inflater::at() const noexcept { return 0; }
bool Inflater::at_end() const noexcept { return true; }

}  // namespace batchfeed::compressed

#endif
