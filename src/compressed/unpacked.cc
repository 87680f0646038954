// SPDX-License-Identifier: MIT
#include "compressed/unpacked.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "compressed/seek_table.h"

namespace batchfeed::compressed {

namespace {

bool before(std::uint64_t offset, const Point& point) { return offset < point.unpacked; }

// The unpacked size that the file states; 0 if it states none. Only an estimate: the size is that of the last gzip
// member or of the first zstd frame.
std::uint64_t stated_size(const Stored& file, Codec codec) {
  std::array<std::byte, 18> bytes{};
  if (file.size < bytes.size()) return 0;
  const bool is_gzip = codec == Codec::gzip;  // its last four bytes are the size modulo 2^32
  const auto part = std::span(bytes).first(is_gzip ? 4 : bytes.size());
  file.read(is_gzip ? file.size - part.size() : 0, part);
  if (!is_gzip) return stated_frame_size(part);
  std::uint64_t size = 0;
  for (std::size_t i = 4; i-- > 0;) size = size << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return size;
}

}  // namespace

Unpacked::Unpacked(const Stored& file, Codec codec, const Limits& limits, std::size_t keep, Spacing spacing)
    : codec_(codec), window_bytes_(limits.unpack_window_bytes), spacing_(spacing), room_(keep) {
  if (!supported(codec)) fail_unsupported(file.path, codec);
  if (keep != 0 && stated_size(file, codec) > keep) room_ = 0;
  points_.push_back({});
  windows_.resize(kWindow);  // a placeholder: Point::window = 0 means none
  if (codec == Codec::gzip) {
    scan_gzip(file, limits);
    return;
  }
  if (std::optional<SeekTable> table = read_seek_table(file)) {
    check_size(file, limits, table->unpacked);
    size_ = table->unpacked;
    table_ = true;
    if (!table->frames.empty()) points_ = std::move(table->frames);
    keep_all(file);
    return;
  }
  scan_zstd(file, limits);
}

// Unpacks a file with a seek table into memory, if its size fits. Damage ends that without a fault; whoever reads the
// damaged part gets it.
void Unpacked::keep_all(const Stored& file) {
  if (size_ > room_) return;
  std::vector<std::byte> piece(kBlock);
  try {
    while (kept_ < size_) {
      const auto next =
          std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, size_ - kept_)));
      read(file, kept_, next);
      keep(next);
    }
  } catch (const Error&) {
    keep_nothing();
  }
}

void Unpacked::keep(std::span<const std::byte> more) {
  if (more.size() > room_ - kept_) return keep_nothing();
  while (!more.empty()) {
    const std::size_t at = kept_ % kBlock;
    if (at == 0) blocks_.emplace_back().resize(kBlock);
    const std::size_t n = std::min(more.size(), kBlock - at);
    std::memcpy(blocks_.back().data() + at, more.data(), n);
    kept_ += n;
    more = more.subspan(n);
  }
}

void Unpacked::keep_nothing() noexcept {
  room_ = kept_ = 0;
  blocks_.clear();
}

void Unpacked::read_kept(std::uint64_t offset, std::span<std::byte> out) const noexcept {
  while (!out.empty()) {
    const auto at = static_cast<std::size_t>(offset % kBlock);
    const std::size_t n = std::min(out.size(), kBlock - at);
    std::memcpy(out.data(), blocks_[static_cast<std::size_t>(offset / kBlock)].data() + at, n);
    offset += n;
    out = out.subspan(n);
  }
}

std::uint64_t Unpacked::longest_way() const noexcept {
  if (is_kept()) return 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::uint64_t end = i + 1 < points_.size() ? points_[i + 1].unpacked : size_;
    most = std::max(most, end - points_[i].unpacked);
  }
  return most;
}

// When there are too many points, drops every second one with its window.
void Unpacked::add(const Point& point, std::span<const std::byte> window) {
  if (point.unpacked < points_.back().unpacked + spacing_.bytes) return;
  if (points_.size() == spacing_.most) {
    // From now on at least as far apart as the points that stay are on average, so that the front of the file is not
    // thinned out again and again.
    spacing_.bytes = std::max(2 * spacing_.bytes, points_.back().unpacked / (spacing_.most / 2));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points_.size(); i += 2) {
      Point moved = points_[i];
      if (moved.window != 0) {
        const auto to = static_cast<std::uint32_t>(kept);
        std::memmove(windows_.data() + to * kWindow, windows_.data() + moved.window * kWindow, kWindow);
        moved.window = to;
      }
      points_[kept++] = moved;
    }
    points_.resize(kept);
    if (!window.empty()) windows_.resize(kept * kWindow);
    if (point.unpacked < points_.back().unpacked + spacing_.bytes) return;
  }
  points_.push_back(point);
  if (window.empty()) return;
  points_.back().window = static_cast<std::uint32_t>(windows_.size() / kWindow);
  windows_.insert(windows_.end(), window.begin(), window.end());
}

void Unpacked::scan_gzip(const Stored& file, const Limits& limits) {
  // The bytes unpacked last, in a buffer of two windows, so that the newest 32 KiB are always contiguous.
  std::vector<std::byte> recent(2 * kWindow);
  std::size_t fill = 0;
  const std::unique_ptr<Decoder> decoder = make_decoder(Codec::gzip, window_bytes_);
  decoder->start(file, points_.front(), {});
  while (!decoder->at_end()) {
    if (fill == recent.size()) {
      std::memmove(recent.data(), recent.data() + kWindow, kWindow);
      fill = kWindow;
    }
    const std::size_t n = decoder->decode_to_point(file, std::span(recent).subspan(fill));
    keep(std::span(recent).subspan(fill, n));
    fill += n;
    check_size(file, limits, decoder->at());
    if (decoder->at_point() && fill >= kWindow) {
      add(decoder->point(), std::span(recent).subspan(fill - kWindow, kWindow));
    }
  }
  size_ = decoder->at();
}

void Unpacked::scan_zstd(const Stored& file, const Limits& limits) {
  std::vector<std::byte> scratch(256 << 10);
  const std::unique_ptr<Decoder> decoder = make_decoder(Codec::zstd, window_bytes_);
  decoder->start(file, points_.front(), {});
  while (!decoder->at_end()) {
    keep(std::span(scratch).first(decoder->decode_to_point(file, scratch)));
    check_size(file, limits, decoder->at());
    if (decoder->at_point() && !decoder->at_end()) add(decoder->point(), {});
  }
  size_ = decoder->at();
}

const Point& Unpacked::point_before(std::uint64_t offset) const noexcept {
  return *std::prev(std::upper_bound(points_.begin(), points_.end(), offset, before));
}

// A decoder that stands at `offset`, or between it and the last point before it.
std::unique_ptr<Decoder> Unpacked::take(const Stored& file, std::uint64_t offset) const {
  const Point& point = point_before(offset);
  std::unique_ptr<Decoder> decoder = parked_.take(point.unpacked, offset);
  if (decoder && decoder->at() >= point.unpacked && decoder->at() <= offset) return decoder;
  if (!decoder) decoder = make_decoder(codec_, window_bytes_);
  decoder->start(file, point,
                 std::span(windows_).subspan(std::size_t{point.window} * kWindow, point.window == 0 ? 0 : kWindow));
  return decoder;
}

// Fills `out` up to the end of the current frame, and returns how much. Throws Error if the frame does not begin and
// end where the seek table says.
std::size_t Unpacked::decode_frame(const Stored& file, Decoder& decoder, std::span<std::byte> out) const {
  const auto disagree = [&] {
    fail_seek_table(file, point_before(decoder.at()).compressed, "its seek table and its frames do not agree");
  };
  const auto by_compressed = [](const Point& a, const Point& b) { return a.compressed < b.compressed; };
  if (decoder.at_point()) {
    const Point here = decoder.point();
    const auto row = std::lower_bound(points_.begin(), points_.end(), here, by_compressed);
    if (row == points_.end() || row->compressed != here.compressed || row->unpacked != here.unpacked) disagree();
  }
  const auto next = std::upper_bound(points_.begin(), points_.end(), decoder.at(), before);
  const std::uint64_t left = (next == points_.end() ? size_ : next->unpacked) - decoder.at();
  const std::size_t n =
      decoder.decode_to_point(file, out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left))));
  if (n == left && !decoder.finish_frame(file)) disagree();
  return n;
}

void Unpacked::read(const Stored& file, std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  if (is_kept()) return read_kept(offset, out);
  std::unique_ptr<Decoder> decoder = take(file, offset);
  const auto decode = [&](std::span<std::byte> to) {
    while (!to.empty()) {
      const std::size_t n = table_ ? decode_frame(file, *decoder, to) : decoder->decode(file, to);
      if (n == 0 && decoder->at_end()) fail_truncated(file, codec_, decoder->at());
      to = to.subspan(n);
    }
  };
  std::array<std::byte, 64 << 10> skipped;
  while (decoder->at() < offset) {
    const std::uint64_t left = offset - decoder->at();
    decode(std::span(skipped).first(static_cast<std::size_t>(std::min<std::uint64_t>(skipped.size(), left))));
  }
  decode(out);
  // Whoever has read to the end will begin at the front again, if at all: this file's decoders are of no more use.
  decoder->at() < size_ ? parked_.add(std::move(decoder)) : parked_.clear();
}

std::string unpacked_head(const Stored& file, Codec codec, std::size_t most, const Limits& limits) {
  if (!supported(codec)) fail_unsupported(file.path, codec);
  const std::unique_ptr<Decoder> decoder = make_decoder(codec, limits.unpack_window_bytes);
  decoder->start(file, {}, {});
  std::string out;
  // The buffer grows with the data: `most` may be far larger than that.
  for (std::size_t have = 0; have < most;) {
    out.resize(std::min(most, std::max<std::size_t>(2 * have, 64 << 10)));
    have += decoder->decode(file, std::as_writable_bytes(std::span(out).subspan(have)));
    if (have == out.size()) continue;
    out.resize(have);
    break;
  }
  return out;
}

}  // namespace batchfeed::compressed
