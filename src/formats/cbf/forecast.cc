// SPDX-License-Identifier: MIT
#include "formats/cbf/forecast.h"

#include <algorithm>

#include "base/cursor.h"
#include "base/saturate.h"
#include "formats/cbf/feed.h"

namespace batchfeed::cbf {
namespace {

std::uint64_t sample_bytes(const FileStream& stream) { return std::uint64_t{stream.dim} * size_of(stream.element); }

std::size_t largest(const Forecast& made) {
  const auto size = [](const Forecast::Stream& a, const Forecast::Stream& b) {
    return a.end - a.begin < b.end - b.begin;
  };
  return static_cast<std::size_t>(std::max_element(made.streams.begin(), made.streams.end(), size) -
                                  made.streams.begin());
}

// Puts streams in their places, from the front or from the end of a chunk.
class Placing {
 public:
  Placing(const Header& header, std::size_t chunk, const Lengths& lengths, const Limits& limits, const io::File& file)
      : header_(header), stored_(header.chunks[chunk]), lengths_(lengths), most_(most_values(limits)), file_(file) {
    out_.streams.resize(header.streams.size());
  }

  std::optional<Forecast> run() {
    const auto& streams = header_.streams;
    const std::size_t middle = header_.sparse_stream();
    std::uint64_t front = stored_.begin + std::uint64_t{stored_.sequences} * 4, back = stored_.end;
    for (std::size_t i = 0; i < middle; ++i) {
      if (!place(i, front, back, false)) return {};
      front = out_.streams[i].end;
    }
    for (std::size_t i = streams.size(); i-- > middle + 1;) {
      if (streams[i].storage == Storage::sparse || !place(i, front, back, true)) return {};
      back = out_.streams[i].begin;
    }
    const std::uint64_t room = back - front;
    if (middle == streams.size()) {
      if (room != 0) return {};
    } else {
      if (room < std::uint64_t{stored_.sequences} * 8 || room / 4 > most_) return {};
      out_.streams[middle] = {.begin = front, .end = back};
    }
    const Forecast::Stream& most = out_.streams[largest(out_)];
    return most.end - most.begin >= (stored_.end - stored_.begin) / 4 * 3 ? std::optional(std::move(out_))
                                                                          : std::nullopt;
  }

 private:
  // Places dense stream i between `front` and `back`, at one of them. False: neither kind of lengths fits there.
  bool place(std::size_t i, std::uint64_t front, std::uint64_t back, bool at_back) {
    const FileStream& stream = header_.streams[i];
    for (const bool single : {false, true}) {
      const std::uint64_t samples = single ? stored_.sequences : lengths_.sum();
      const std::uint64_t bytes = add_sat(mul_sat(samples, sample_bytes(stream)), std::uint64_t{stored_.sequences} * 4);
      if (bytes > back - front || samples > most_ || mul_sat(samples, stream.dim) > most_) continue;
      const std::uint64_t begin = at_back ? back - bytes : front;
      out_.streams[i] = {.begin = begin, .end = begin + bytes, .single = single};
      if (length_is_there(i, 0) && length_is_there(i, stored_.sequences - 1)) return true;
    }
    return false;
  }

  bool length_is_there(std::size_t i, std::uint32_t row) const {
    std::byte bytes[4];
    file_.read(out_.at(header_, lengths_, i, row), bytes);
    return load<std::uint32_t>(bytes) == (out_.streams[i].single ? 1 : lengths_[row]);
  }

  const Header& header_;
  const FileChunk& stored_;
  const Lengths& lengths_;
  std::uint64_t most_;
  const io::File& file_;
  Forecast out_;
};

}  // namespace

std::uint64_t Forecast::at(const Header& header, const Lengths& announced, std::size_t stream,
                           std::uint32_t row) const {
  const Stream& s = streams[stream];
  const std::uint64_t samples = s.single ? row : announced.before(row);
  return s.begin + std::uint64_t{row} * 4 + samples * sample_bytes(header.streams[stream]);
}

std::optional<Forecast> forecast(const Header& header, std::size_t chunk, const Lengths& lengths, const Limits& limits,
                                 const io::File& file) {
  if (header.layout != Layout::modern || header.chunks[chunk].sequences == 0) return {};
  return Placing(header, chunk, lengths, limits, file).run();
}

bool is_true(const Forecast& made, const Header& header, std::size_t chunk, const Lengths& lengths,
             const io::File& file) {
  Buffer<std::byte> scratch;
  for (std::size_t i = 0; i < made.streams.size(); ++i) {
    if (i == largest(made)) continue;
    const FileStream& stream = header.streams[i];
    Feed feed(file, made.streams[i].begin, made.streams[i].end, scratch);
    for (std::uint32_t s = 0; s < header.chunks[chunk].sequences; ++s) {
      if (feed.left() < (stream.storage == Storage::sparse ? 8 : 4)) return false;
      const std::uint64_t n = feed.get<std::uint32_t>();
      std::uint64_t bytes = mul_sat(n, sample_bytes(stream));
      if (stream.storage == Storage::sparse) {
        bytes = std::uint64_t{feed.get<std::uint32_t>()} * (size_of(stream.element) + 4) + n * 4;
      } else if (n != (made.streams[i].single ? 1 : lengths[s])) {
        return false;
      }
      if (bytes > feed.left()) return false;
      feed.seek(feed.at() + bytes);
    }
    if (feed.left() != 0) return false;
  }
  return true;
}

}  // namespace batchfeed::cbf
