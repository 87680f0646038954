// SPDX-License-Identifier: MIT
#include "compressed/decoder.h"

#if BATCHFEED_WITH_ZLIB

#include <zlib.h>

#include <algorithm>
#include <array>

#include "compressed/piece.h"

namespace batchfeed::compressed {

namespace {

constexpr int kRaw = -15, kGzip = 15 + 16;  // zlib's windowBits: a 32 KiB window, raw deflate or gzip
constexpr std::size_t kTrailer = 8;         // CRC and size behind a member
// Zeros that may stand behind the last member: more than any block of a tape, and few enough to check them all.
constexpr std::uint64_t kMostPadding = 64u << 20;

class Inflater : public Decoder {
 public:
  Inflater() {
    if (inflateInit2(&z_, kGzip) != Z_OK) fail_memory();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() override { inflateEnd(&z_); }

  void start(const Stored& file, const Point& point, std::span<const std::byte> window) override {
    raw_ = point.window != 0;
    end_ = block_end_ = false;
    at_ = point.unpacked;
    piece_.start(point.compressed);
    if (inflateReset2(&z_, raw_ ? kRaw : kGzip) != Z_OK) fail_memory();
    if (!raw_) {
      end_ = file.left(point.compressed, 1) == 0;
      return;
    }
    if (point.bits != 0) {
      std::byte before{};
      file.read(point.compressed - 1, {&before, 1});
      inflatePrime(&z_, point.bits, std::to_integer<int>(before) >> (8 - point.bits));
    }
    inflateSetDictionary(&z_, reinterpret_cast<const Bytef*>(window.data()), static_cast<uInt>(window.size()));
  }

  std::size_t decode(const Stored& file, std::span<std::byte> out) override { return step(file, out, Z_NO_FLUSH); }
  std::size_t decode_to_point(const Stored& file, std::span<std::byte> out) override {
    return step(file, out, Z_BLOCK);
  }
  bool at_point() const noexcept override { return block_end_; }
  Point point() const noexcept override {
    // zlib reports the end of a gzip header as a block's end, too. The low bits of data_type are the unused bits of the
    // last input byte.
    return {.compressed = piece_.position(), .unpacked = at_, .bits = static_cast<std::uint8_t>(z_.data_type & 7)};
  }
  bool finish_frame(const Stored&) override { return true; }
  std::uint64_t at() const noexcept override { return at_; }
  bool at_end() const noexcept override { return end_; }
  // zlib has no function for this; its manual says that inflating takes the window and about 7 KiB.
  std::size_t bytes() const noexcept override { return sizeof *this + kWindow + (std::size_t{7} << 10); }

 private:
  // Behind a member stand another member, the end of the file, or zeros up to the end as on tapes.
  void next_member(const Stored& file) {
    if (raw_) {
      for (std::size_t i = 0; i < kTrailer; ++i) {
        if (!piece_.fill(file)) fail_truncated(file, Codec::gzip, at_);
        piece_.take(1);
      }
    }
    raw_ = false;
    if (!piece_.fill(file)) {
      end_ = true;
      return;
    }
    std::array<std::byte, kHeadBytes> head{};
    if (codec_of(piece_.peek(file, head)) != Codec::gzip) {
      const std::uint64_t begin = piece_.position();
      for (std::uint64_t zeros = 0; piece_.fill(file); piece_.take(1), ++zeros) {
        if (piece_.left().front() != std::byte{0} || zeros == kMostPadding) fail_trailing(file, Codec::gzip, begin);
      }
      end_ = true;
      return;
    }
    if (inflateReset2(&z_, kGzip) != Z_OK) fail_memory();
  }

  std::size_t step(const Stored& file, std::span<std::byte> out, int flush) {
    std::size_t done = 0;
    block_end_ = false;
    while (done < out.size() && !end_ && !block_end_) {
      if (!piece_.fill(file)) fail_truncated(file, Codec::gzip, at_);
      z_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(piece_.left().data()));  // zlib only reads
      z_.avail_in = static_cast<uInt>(piece_.left().size());
      const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - done, 1u << 30));
      z_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      z_.avail_out = room;
      const int code = ::inflate(&z_, flush);
      piece_.take(piece_.left().size() - z_.avail_in);
      const std::size_t n = room - z_.avail_out;
      done += n;
      at_ += n;
      if (code == Z_STREAM_END) {
        next_member(file);
      } else if (code == Z_MEM_ERROR) {
        fail_memory();
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        fail_damaged(file, Codec::gzip, piece_.position(), z_.msg != nullptr ? z_.msg : "no deflate data");
      } else if (flush == Z_BLOCK && (z_.data_type & 128) != 0 && (z_.data_type & 64) == 0) {
        block_end_ = true;
      }
    }
    return done;
  }

  z_stream z_{};
  Piece piece_;
  std::uint64_t at_ = 0;
  bool raw_ = false;  // begun inside a member as raw deflate: zlib does not read this member's trailer
  bool end_ = false;
  bool block_end_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_inflater() { return std::make_unique<Inflater>(); }

}  // namespace batchfeed::compressed

#else

std::unique_ptr<batchfeed::compressed::Decoder> batchfeed::compressed::make_inflater() { return nullptr; }

#endif
