// SPDX-License-Identifier: MIT
#include "compressed/pipe.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compressed/compressed.h"
#include "compressed/decoder.h"

namespace batchfeed::compressed {

namespace {
constexpr std::size_t kPiece = std::size_t{64} << 10;
// Bytes that stay in memory although they were read: a decoder reads forward, but may look back as far as the piece it
// took last.
constexpr std::size_t kKept = 2 * kPiece;
}  // namespace

struct Pipe::State {
  State(std::string given_name, Read given_read, const Limits& given_limits)
      : name(std::move(given_name)), read_some(std::move(given_read)), limits(given_limits) {
    stored.read = [this](std::uint64_t offset, std::span<std::byte> out) { copy(offset, out); };
    stored.wait = [this](std::uint64_t offset, std::uint64_t wanted) { return wait(offset, wanted); };
    std::vector<std::byte> head(static_cast<std::size_t>(wait(0, kHeadBytes)));
    copy(0, head);
    const Codec codec = codec_of(head);
    if (!supported(codec)) fail_unsupported(name, codec);
    if (codec == Codec::none) return;
    decoder = make_decoder(codec, limits.unpack_window_bytes);
    decoder->start(stored, {}, {});
  }

  std::uint64_t wait(std::uint64_t offset, std::uint64_t wanted) {
    while (!ended && stored.size < offset + wanted) {
      if (held.size() > kKept + kPiece) {
        const std::size_t gone = held.size() - kKept;
        held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(gone));
        held_from += gone;
      }
      const std::size_t before = held.size();
      held.resize(before + kPiece);
      const std::size_t n = read_some(std::span(held).subspan(before));
      held.resize(before + n);
      stored.size += n;
      ended = n == 0;
    }
    return offset >= stored.size ? 0 : std::min(wanted, stored.size - offset);
  }

  void copy(std::uint64_t offset, std::span<std::byte> out) const {
    if (offset < held_from || out.size() > stored.size - offset) {
      throw Error(Fault{.kind = FaultKind::internal,
                        .id = "compressed.gone",
                        .at = {.file = name, .byte = offset},
                        .what = "bytes of a pipe are asked for that are gone"});
    }
    const auto from = held.begin() + static_cast<std::ptrdiff_t>(offset - held_from);
    std::copy(from, from + static_cast<std::ptrdiff_t>(out.size()), out.begin());
  }

  std::size_t plain(std::span<std::byte> out) {
    const auto n = static_cast<std::size_t>(wait(at, std::min(out.size(), kPiece)));
    copy(at, out.first(n));
    at += n;
    return n;
  }

  std::string name;
  Read read_some;
  Limits limits;
  Stored stored{name, 0, {}};
  std::vector<std::byte> held;  // the last bytes of the pipe
  std::uint64_t held_from = 0;  // their offset in it
  bool ended = false;
  std::unique_ptr<Decoder> decoder;  // null if the pipe is not compressed
  std::uint64_t at = 0;              // unpacked bytes given
};

Pipe::Pipe(std::string name, Read read, const Limits& limits)
    : state_(std::make_unique<State>(std::move(name), std::move(read), limits)) {}
Pipe::~Pipe() = default;

bool Pipe::is_compressed() const noexcept { return state_->decoder != nullptr; }
std::uint64_t Pipe::taken() const noexcept { return state_->stored.size; }

std::size_t Pipe::read(std::span<std::byte> out) {
  State& s = *state_;
  if (!s.decoder) {
    std::size_t done = 0;
    for (std::size_t n = 1; done < out.size() && n != 0; done += n) n = s.plain(out.subspan(done));
    return done;
  }
  const std::size_t n = s.decoder->decode(s.stored, out);
  s.at += n;
  check_size(s.stored, s.limits, s.at);
  return n;
}

}  // namespace batchfeed::compressed
