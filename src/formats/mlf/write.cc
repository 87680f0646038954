// SPDX-License-Identifier: MIT
//
// Writes runs of labels as a text or a binary MLF.
#include <batchfeed/error.h>
#include <batchfeed/speech_writer.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/quoted.h"
#include "base/seen.h"
#include "io/atomic_file.h"

namespace batchfeed {
namespace mlf {
namespace {

constexpr std::uint64_t kFrame = 100'000;  // 10 ms in 100 ns
constexpr std::uint64_t kMost = 0xFFFF;    // of a class, of the frames of a run, and of runs: 16 bits in a binary MLF
constexpr std::size_t kFlush = std::size_t{1} << 20;

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

}  // namespace
}  // namespace mlf

struct MlfWriter::Impl {
  Impl(std::string file, MlfWriterOptions wanted)
      : path(std::move(file)), options(std::move(wanted)), out(path, {.replace = options.replace}) {
    for (const std::string& name : options.names) {
      if (!name.empty() && name.find_first_of(std::string_view(" \t\r\n\v\f\0", 7)) == std::string::npos) continue;
      refuse("mlf.write-name", "a label file cannot hold the label '" + name + "'", "labels have no blanks");
    }
    pending = options.binary ? std::string("MLF\2\0", 5) : "#!MLF!#\n";
  }

  [[noreturn]] void refuse(const char* id, std::string what, std::string hint = {}) const {
    throw Error(Fault{
        .kind = FaultKind::usage, .id = id, .at = {.file = path}, .what = std::move(what), .hint = std::move(hint)});
  }

  void add(std::string_view key, std::span<const MlfSegment> segments) {
    const std::string who = "utterance '" + std::string(clipped(key)) + "'";
    const bool fits = options.binary ? key.size() <= 256 : key.find_first_of(std::string_view("\n\r\0", 3)) == key.npos;
    if (key.empty() || !fits)
      refuse("mlf.write-key", who + " has a key that a label file cannot hold",
             options.binary ? "keys have 1 to 256 bytes; write text" : "number the sequences");
    const bool is_bounded = options.binary || options.names.empty();
    const std::uint64_t names = options.names.empty() ? mlf::kMost + 1 : options.names.size();
    const std::uint64_t most = is_bounded ? std::min<std::uint64_t>(names, mlf::kMost + 1) : names;
    std::uint64_t frames = 0;
    for (const MlfSegment& s : segments) {
      if (s.label >= most)
        refuse("mlf.write-class",
               who + ": class " + std::to_string(s.label) + " in frame " + std::to_string(frames) + ", there are " +
                   std::to_string(most) + (options.names.empty() ? "" : " labels"),
               options.names.empty() ? "" : "name every class in the state list");
      frames += s.frames;
    }
    if (frames == 0 || frames > 0xFFFFFFFFu)
      refuse("mlf.write-frames", who + " has " + counted(frames, "frame") + ", expected 1 to 4294967295");
    std::uint64_t runs = 0;
    for (const MlfSegment& s : segments) runs += (s.frames + mlf::kMost - 1) / mlf::kMost;
    if (options.binary && runs > mlf::kMost)
      refuse("mlf.write-runs", who + " has " + counted(runs, "run") + " of labels, a binary file holds 65535",
             "write text");
    if (!keys.add(key))
      refuse("mlf.write-repeated", who + " is there already",
             "readers leave out all but one of a key: give each its own");
    options.binary ? binary(key, segments, frames, runs) : text(key, segments);
    ++utterances;
    if (pending.size() > mlf::kFlush) flush();
  }

  void text(std::string_view key, std::span<const MlfSegment> segments) {
    pending.append("\"*/").append(key).append(".lab\"\n");
    std::uint64_t at = 0;
    for (const MlfSegment& s : segments) {
      if (s.frames == 0) continue;
      pending += std::to_string(at * mlf::kFrame) + ' ' + std::to_string((at + s.frames) * mlf::kFrame) + ' ';
      if (options.names.empty()) {
        const std::string number = std::to_string(s.label);
        pending.append(number).append(" ").append(number);
      } else {
        pending += options.names[s.label];
      }
      pending += '\n';
      at += s.frames;
    }
    pending += ".\n";
  }

  void binary(std::string_view key, std::span<const MlfSegment> segments, std::uint64_t frames, std::uint64_t runs) {
    mlf::put(pending, static_cast<std::uint16_t>(key.size()));
    pending.append(key);
    mlf::put(pending, static_cast<std::uint32_t>(frames));
    mlf::put(pending, static_cast<std::uint16_t>(runs));
    for (const MlfSegment& s : segments) {
      for (std::uint64_t left = s.frames; left > 0;) {
        const std::uint64_t n = std::min(left, mlf::kMost);
        mlf::put(pending, static_cast<std::uint16_t>(s.label));
        mlf::put(pending, static_cast<std::uint16_t>(n));
        left -= n;
      }
    }
  }

  void flush() {
    if (pending.empty()) return;
    out.append(std::string_view(pending));
    pending.clear();
  }

  std::string path;
  MlfWriterOptions options;
  io::AtomicFile out;
  std::string pending;
  Seen keys;
  std::uint64_t utterances = 0;
};

MlfWriter::MlfWriter(std::string path, MlfWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(path), std::move(options))) {}
MlfWriter::MlfWriter(MlfWriter&&) noexcept = default;
MlfWriter& MlfWriter::operator=(MlfWriter&&) noexcept = default;
MlfWriter::~MlfWriter() = default;

void MlfWriter::append(std::string_view key, std::span<const MlfSegment> segments) { impl_->add(key, segments); }
void MlfWriter::seal() {
  impl_->flush();
  impl_->out.seal();
}
void MlfWriter::commit() {
  seal();
  impl_->out.commit();
}
std::uint64_t MlfWriter::utterances() const noexcept { return impl_->utterances; }

}  // namespace batchfeed
