// SPDX-License-Identifier: MIT
#include "compressed/unzstd.h"

#if BATCHFEED_WITH_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/counted.h"
#include "compressed/piece.h"

namespace batchfeed::compressed {

struct Unzstd::State {
  explicit State(std::uint64_t window_bytes) : limit(window_bytes), stream(ZSTD_createDStream()) {
    if (stream == nullptr) fail_memory();
    const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    const int log = static_cast<int>(std::bit_width(window_bytes)) - 1;
    ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, std::clamp(log, bounds.lowerBound, bounds.upperBound));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ZSTD_freeDStream(stream); }

  [[noreturn]] void fail(const Stored& file, std::size_t code) const {
    switch (ZSTD_getErrorCode(code)) {
      case ZSTD_error_memory_allocation: fail_memory();
      case ZSTD_error_prefix_unknown:
        if (at > 0 || piece.position() > 0) fail_trailing(file, Codec::zstd, piece.position());
        break;
      case ZSTD_error_frameParameter_windowTooLarge:
        fail_limit(file, "a zstd frame needs a window of more than " + counted(limit, "byte"), "unpack_window_bytes");
      default: break;
    }
    fail_damaged(file, Codec::zstd, piece.position(), ZSTD_getErrorName(code));
  }

  // Frames from before the format was settled (0.1 to 0.7) know no limit of the window.
  void refuse_old(const Stored& file) const {
    std::array<std::byte, 4> magic{};
    if (piece.peek(file, magic).size() < magic.size()) return;
    const bool old = magic[0] >= std::byte{0x1E} && magic[0] <= std::byte{0x27} && magic[1] == std::byte{0xB5} &&
                     magic[2] == std::byte{0x2F} && magic[3] == std::byte{0xFD};
    if (old) fail_damaged(file, Codec::zstd, piece.position(), "a frame of zstd before version 0.8");
  }

  // Gives how many bytes of the piece it took.
  std::size_t decompress(const Stored& file, ZSTD_outBuffer& out) {
    ZSTD_inBuffer in{piece.left().data(), piece.left().size(), 0};
    const std::size_t code = ZSTD_decompressStream(stream, &out, &in);
    piece.take(in.pos);
    if (ZSTD_isError(code)) fail(file, code);
    between = code == 0;
    return in.pos;
  }

  std::size_t step(const Stored& file, std::span<std::byte> bytes, bool stop_at_frame) {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    bool stop = false;
    while (out.pos < out.size && !end && !stop) {
      // A frame that is not over may hold bytes back although its input is all there.
      const bool more = piece.fill(file);
      if (!more && between) {
        end = true;
        break;
      }
      if (between) refuse_old(file);
      const std::size_t before = out.pos;
      const std::size_t read = decompress(file, out);
      at += out.pos - before;
      stop = between && stop_at_frame;
      if (!more && !between && out.pos == before && read == 0) fail_truncated(file, Codec::zstd, at);
    }
    return out.pos;
  }

  // What is left of it may be a checksum.
  bool finish(const Stored& file) {
    std::byte none{};
    while (!between) {
      ZSTD_outBuffer out{&none, 0, 0};
      if (!piece.fill(file)) fail_truncated(file, Codec::zstd, at);
      if (decompress(file, out) == 0) break;
    }
    return between;
  }

  std::uint64_t limit;
  ZSTD_DStream* stream;
  Piece piece;
  std::uint64_t at = 0;
  bool between = true;  // frames
  bool end = false;
};

Unzstd::Unzstd(std::uint64_t window_bytes) : state_(std::make_unique<State>(window_bytes)) {}
Unzstd::Unzstd(Unzstd&&) noexcept = default;
Unzstd& Unzstd::operator=(Unzstd&&) noexcept = default;
Unzstd::~Unzstd() = default;

void Unzstd::start(const Point& point) {
  State& s = *state_;
  ZSTD_DCtx_reset(s.stream, ZSTD_reset_session_only);
  s.piece.start(point.compressed);
  s.at = point.unpacked;
  s.between = true;
  s.end = false;
}

std::size_t Unzstd::decode(const Stored& file, std::span<std::byte> out) { return state_->step(file, out, false); }
std::size_t Unzstd::decode_frame(const Stored& file, std::span<std::byte> out) { return state_->step(file, out, true); }
bool Unzstd::finish_frame(const Stored& file) { return state_->finish(file); }
bool Unzstd::at_point() const noexcept { return state_->between; }
Point Unzstd::point() const noexcept { return {.compressed = state_->piece.position(), .unpacked = state_->at}; }
std::uint64_t Unzstd::at() const noexcept { return state_->at; }
bool Unzstd::at_end() const noexcept { return state_->end; }

std::uint64_t told_frame_size(std::span<const std::byte> head) noexcept {
  const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
  return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

}  // namespace batchfeed::compressed

#else

namespace batchfeed::compressed {

struct Unzstd::State {};
Unzstd::Unzstd(std::uint64_t) {}
Unzstd::Unzstd(Unzstd&&) noexcept = default;
Unzstd& Unzstd::operator=(Unzstd&&) noexcept = default;
Unzstd::~Unzstd() = default;
void Unzstd::start(const Point&) {}
std::size_t Unzstd::decode(const Stored&, std::span<std::byte>) { return 0; }
std::size_t Unzstd::decode_frame(const Stored&, std::span<std::byte>) { return 0; }
bool Unzstd::finish_frame(const Stored&) { return true; }
bool Unzstd::at_point() const noexcept { return false; }
Point Unzstd::point() const noexcept { return {}; }
std::uint64_t Unzstd::at() const noexcept { return 0; }
bool Unzstd::at_end() const noexcept { return true; }
std::uint64_t told_frame_size(std::span<const std::byte>) noexcept { return 0; }

}  // namespace batchfeed::compressed

#endif
