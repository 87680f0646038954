// SPDX-License-Identifier: MIT
#include "compressed/decoder.h"

#if BATCHFEED_WITH_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/counted.h"
#include "compressed/piece.h"

namespace batchfeed::compressed {

namespace {

class Unzstd : public Decoder {
 public:
  explicit Unzstd(std::uint64_t window_bytes) : limit_(window_bytes), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) fail_memory();
    const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    const int log = static_cast<int>(std::bit_width(window_bytes)) - 1;
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, std::clamp(log, bounds.lowerBound, bounds.upperBound));
  }
  Unzstd(const Unzstd&) = delete;
  Unzstd& operator=(const Unzstd&) = delete;
  ~Unzstd() override { ZSTD_freeDStream(stream_); }

  void start(const Stored&, const Point& point, std::span<const std::byte>) override {
    ZSTD_DCtx_reset(stream_, ZSTD_reset_session_only);
    piece_.start(point.compressed);
    at_ = point.unpacked;
    between_ = true;
    end_ = false;
  }

  std::size_t decode(const Stored& file, std::span<std::byte> out) override { return step(file, out, false); }
  std::size_t decode_to_point(const Stored& file, std::span<std::byte> out) override { return step(file, out, true); }
  bool at_point() const noexcept override { return between_; }
  Point point() const noexcept override { return {.compressed = piece_.position(), .unpacked = at_}; }
  // All data of the frame are out, but its checksum may still have to be read.
  bool finish_frame(const Stored& file) override {
    std::byte none{};
    while (!between_) {
      ZSTD_outBuffer out{&none, 0, 0};
      if (!piece_.fill(file)) fail_truncated(file, Codec::zstd, at_);
      if (decompress(file, out) == 0) break;
    }
    return between_;
  }
  std::uint64_t at() const noexcept override { return at_; }
  bool at_end() const noexcept override { return end_; }
  std::size_t bytes() const noexcept override { return sizeof *this + ZSTD_sizeof_DStream(stream_); }

 private:
  [[noreturn]] void fail(const Stored& file, std::size_t code) const {
    switch (ZSTD_getErrorCode(code)) {
      case ZSTD_error_memory_allocation: fail_memory();
      case ZSTD_error_prefix_unknown:
        if (at_ > 0 || piece_.position() > 0) fail_trailing(file, Codec::zstd, piece_.position());
        break;
      case ZSTD_error_frameParameter_windowTooLarge:
        fail_limit(file, "a zstd frame needs a window of more than " + counted(limit_, "byte"), "unpack_window_bytes");
      default: break;
    }
    fail_damaged(file, Codec::zstd, piece_.position(), ZSTD_getErrorName(code));
  }

  // For frames of zstd 0.1 to 0.7, whose format differs, the library does not apply the window limit.
  void refuse_old(const Stored& file) const {
    std::array<std::byte, 4> magic{};
    if (piece_.peek(file, magic).size() < magic.size()) return;
    const bool old = magic[0] >= std::byte{0x1E} && magic[0] <= std::byte{0x27} && magic[1] == std::byte{0xB5} &&
                     magic[2] == std::byte{0x2F} && magic[3] == std::byte{0xFD};
    if (old) fail_damaged(file, Codec::zstd, piece_.position(), "a frame of zstd before version 0.8");
  }

  // Returns the number of input bytes taken from the piece.
  std::size_t decompress(const Stored& file, ZSTD_outBuffer& out) {
    ZSTD_inBuffer in{piece_.left().data(), piece_.left().size(), 0};
    const std::size_t code = ZSTD_decompressStream(stream_, &out, &in);
    piece_.take(in.pos);
    if (ZSTD_isError(code)) fail(file, code);
    between_ = code == 0;
    return in.pos;
  }

  std::size_t step(const Stored& file, std::span<std::byte> bytes, bool stop_at_frame) {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    bool stop = false;
    while (out.pos < out.size && !end_ && !stop) {
      // Without more input the decoder may still have output of an unfinished frame to give.
      const bool more = piece_.fill(file);
      if (!more && between_) {
        end_ = true;
        break;
      }
      if (between_) refuse_old(file);
      const std::size_t before = out.pos;
      const std::size_t read = decompress(file, out);
      at_ += out.pos - before;
      stop = between_ && stop_at_frame;
      if (!more && !between_ && out.pos == before && read == 0) fail_truncated(file, Codec::zstd, at_);
    }
    return out.pos;
  }

  std::uint64_t limit_;
  ZSTD_DStream* stream_;
  Piece piece_;
  std::uint64_t at_ = 0;
  bool between_ = true;  // between two frames, or before the first
  bool end_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_unzstd(std::uint64_t window_bytes) { return std::make_unique<Unzstd>(window_bytes); }

std::uint64_t stated_frame_size(std::span<const std::byte> head) noexcept {
  const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
  return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

}  // namespace batchfeed::compressed

#else

namespace batchfeed::compressed {

std::unique_ptr<Decoder> make_unzstd(std::uint64_t) { return nullptr; }
std::uint64_t stated_frame_size(std::span<const std::byte>) noexcept { return 0; }

}  // namespace batchfeed::compressed

#endif
