// SPDX-License-Identifier: MIT
#include "formats/mlf/binary.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/cursor.h"
#include "base/piece.h"
#include "formats/mlf/index.h"

namespace batchfeed::mlf {
namespace {

constexpr std::size_t kMaxKey = 256, kSegmentBytes = 4;
constexpr std::size_t kBlock = std::max(piece_bytes(256 << 10), 2 * kMaxKey);

// Reads small fields of a file, front to back, from a block of it in memory.
class Stream {
 public:
  explicit Stream(const io::File& file) : file_(file) {}

  std::uint64_t at() const noexcept { return at_; }
  std::uint64_t left() const noexcept { return file_.size() - at_; }
  void skip(std::uint64_t n) noexcept { at_ += n; }

  // n bytes (n <= left(), n <= kBlock), valid until the next call.
  const std::byte* take(std::size_t n) {
    if (at_ < from_ || at_ + n > from_ + block_.size()) {
      from_ = at_;
      block_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, file_.size() - at_)));
      file_.read(from_, block_);
    }
    const std::byte* p = block_.data() + (at_ - from_);
    at_ += n;
    return p;
  }
  template <class T>
  T field() {
    return load<T>(take(sizeof(T)));
  }

 private:
  const io::File& file_;
  std::uint64_t at_ = 0, from_ = 0;
  std::vector<std::byte> block_;
};

int read_version(Stream& in, const io::File& file) {
  if (in.left() < 5)
    io::fail_at(file, file.size(), "mlf.binary-header",
                "not a binary MLF: it has " + counted(file.size(), "byte") + ", its header alone has 5");
  const std::byte* magic = in.take(3);
  if (std::string_view(reinterpret_cast<const char*>(magic), 3) != "MLF")
    io::fail_at(file, 0, "mlf.binary-header", "a binary MLF begins with 'MLF'",
                "a text MLF is read by HTKMLFDeserializer");
  const int version = in.field<std::int16_t>();
  if (version != 1 && version != 2)
    io::fail_at(file, 3, "mlf.binary-version", "version " + std::to_string(version) + ", known are 1 and 2");
  return version;
}

// Reads a key; false if the file ends inside it.
bool read_key(Stream& in, const io::File& file, int version, std::string& key) {
  const std::uint64_t start = in.at();
  if (version == 1) {
    if (in.left() < 4) return false;
    key = std::to_string(in.field<std::uint32_t>());
    return true;
  }
  if (in.left() < 2) return false;
  const std::size_t n = in.field<std::uint16_t>();
  if (n > kMaxKey)
    io::fail_at(file, start, "mlf.binary-key", "a key of " + counted(n, "byte") + ", expected at most 256",
                "the file is damaged here or before");
  if (in.left() < n) return false;
  key.assign(reinterpret_cast<const char*>(in.take(n)), n);
  return true;
}

}  // namespace

void index_binary(const io::File& file, IndexBuilder& builder) {
  builder.begin_file(file);
  Stream in(file);
  const int version = read_version(in, file);
  std::string key;
  while (in.left() > 0) {
    const std::uint64_t start = in.at();
    const Position at{.file = file.path(), .byte = start, .has_byte = true};
    if (!read_key(in, file, version, key)) {
      builder.ends_open();
      builder.skip({.kind = FaultKind::format,
                    .id = "mlf.cut-short",
                    .at = at,
                    .what = "the file ends in a key; the utterance is left out",
                    .hint = "was the file cut off?"});
      return;
    }
    const auto short_of = [&](const char* part) {
      io::fail_at(file, in.at(), "mlf.binary-short", "utterance '" + key + "': the file ends in its " + part,
                  "was the file cut off?");
    };
    if (in.left() < 6) short_of("counts");
    const std::uint32_t frames = in.field<std::uint32_t>();
    const std::uint64_t begin = in.at();
    const std::uint64_t bytes = std::uint64_t{in.field<std::uint16_t>()} * kSegmentBytes;
    if (in.left() < bytes) short_of("segments");
    in.skip(bytes);
    if (frames == 0) {
      Fault fault{.kind = FaultKind::format,
                  .id = "mlf.binary-frames",
                  .at = {.file = file.path(), .byte = begin - 4, .has_byte = true},
                  .what = "utterance '" + key + "' has no frames"};
      if (!builder.context().check) throw Error(std::move(fault));
      builder.faults().error(std::move(fault));
    } else {
      builder.add(key, at, begin, bytes + 2, frames);
    }
    if (builder.context().progress && (start ^ in.at()) >> 24 != 0) builder.context().progress(in.at(), file.size());
  }
}

void parse_binary(std::span<const std::byte> bytes, const Position& at, std::string_view key, std::uint32_t frames,
                  std::uint64_t classes, Labels& out) {
  out.segments.clear();
  out.invalid.reset();
  const auto bad = [&](std::uint64_t offset, const char* id, std::string what) {
    Position where = at;
    where.byte += offset;
    throw Error(Fault{.kind = FaultKind::format,
                      .id = id,
                      .at = std::move(where),
                      .what = "utterance '" + std::string(key) + "': " + std::move(what)});
  };
  std::uint64_t sum = 0;
  for (std::size_t i = 2; i + kSegmentBytes <= bytes.size(); i += kSegmentBytes) {
    const Segment s{load<std::uint16_t>(bytes.data() + i), load<std::uint16_t>(bytes.data() + i + 2)};
    if (s.state >= classes)
      bad(i, "mlf.class-range", "class " + std::to_string(s.state) + " is not below dim " + std::to_string(classes));
    sum += s.frames;
    out.segments.push_back(s);
  }
  if (sum != frames)
    bad(0, "mlf.binary-frames",
        "its segments have " + counted(sum, "frame") + ", its header says " + std::to_string(frames));
  out.frames = frames;
}

}  // namespace batchfeed::mlf
