// SPDX-License-Identifier: MIT
#include "formats/mlf/index.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/counted.h"
#include "base/saturate.h"
#include "model/repeats.h"

namespace batchfeed::mlf {

namespace {
constexpr std::uint64_t kAnyRatio = 1u << 21;  // up to so many frames label_ratio is not applied
constexpr std::uint64_t kBeside = 64;          // bytes of key and counts that an utterance has beside its entry's bytes
// In memory a chunk takes 12 bytes a frame, so it is also cut when it would have more than kAnyChunk frames and more
// than kFramesOfByte for each of its bytes. The labels of ordinary corpora have fewer, and are cut by bytes alone, as
// in CNTK.
constexpr std::uint64_t kFramesOfByte = 64, kAnyChunk = 1u << 20;

// For the bytes of one utterance, which are held together: blank lines in it may unpack from next to nothing.
io::Room room_for_utterance(const io::File& file, const Limits& limits) {
  return file.is_compressed() ? io::room_for_line(file, limits) : io::Room{~0ull, ""};
}
}  // namespace

void IndexBuilder::begin_file(const io::File& file) {
  take_waiting();
  file_first_.push_back(index_.entries.size());
  file_bytes_.push_back(file.size());
  paths_.push_back(file.path());
  room_.emplace(file, context_.limits);
  utterance_room_ = room_for_utterance(file, context_.limits);
  open_end_ = false;
  file_frames_ = 0;
}

void IndexBuilder::add(std::string_view key, const Position& at, std::uint64_t begin, std::uint64_t bytes,
                       std::uint64_t samples) {
  if (key.size() > context_.limits.key_bytes) {
    return tell_limit(Fault{.kind = FaultKind::limit,
                            .id = "limit.key",
                            .at = at,
                            .what = "the utterance has a key of " + counted(key.size(), "byte") + ", the limit is " +
                                    std::to_string(context_.limits.key_bytes),
                            .hint = "raise limits.key_bytes",
                            .stream = options_.name});
  }
  IndexEntry entry{.begin = begin,
                   .bytes = bytes,
                   .samples = static_cast<std::uint32_t>(std::min<std::uint64_t>(samples, 0xFFFFFFFFu)),
                   .aux = static_cast<std::uint32_t>(at.line)};
  if (!check(entry, at)) return;
  if (waiting_.size() == WaitingNames::kMany) take_waiting();
  const std::optional<std::uint64_t> number = names_.add(key);
  if (!number) {
    Fault fault{.kind = FaultKind::format,
                .id = "mlf.numeric-key",
                .at = at,
                .what = "key '" + std::string(key) + "' does not begin with a number, 0 to 18446744073709551615",
                .hint = "set `useNumericSequenceKeys = false`",
                .stream = options_.name};
    return refuse(std::move(fault));
  }
  room_->take(sizeof(IndexEntry) + io::IndexRoom::kKey + key.size(), at);
  entry.key = *number;
  waiting_.push_back(entry);
}

void IndexBuilder::take_waiting() {
  names_.number(std::span(waiting_));
  for (const IndexEntry& entry : waiting_) index_.entries.push_back(entry);
  waiting_.clear();
}

std::optional<Fault> IndexBuilder::beyond_limit(const IndexEntry& entry, const Position& at, std::uint64_t frames,
                                                std::uint64_t file_bytes, const io::Room& room) const {
  const Limits& limits = context_.limits;
  const auto fault = [&](const char* id, std::string what, std::string hint) {
    return Fault{.kind = FaultKind::limit,
                 .id = id,
                 .at = at,
                 .what = std::move(what),
                 .hint = std::move(hint),
                 .stream = options_.name};
  };
  const auto too_long = [&](const char* id, std::uint64_t limit, const char* field) {
    return fault(id,
                 "the utterance has labels for frames: " + std::to_string(entry.samples) + ", the limit is " +
                     std::to_string(limit),
                 std::string("raise limits.") + field);
  };
  if (entry.bytes > room.bytes) {
    return fault("limit.line",
                 "the utterance has " + counted(entry.bytes, "byte") + ", the limit is " + std::to_string(room.bytes),
                 std::string("if you trust it, raise limits.") + room.limit + ", or unpack the file first");
  }
  if (entry.samples > limits.sequence_samples)
    return too_long("limit.sequence", limits.sequence_samples, "sequence_samples");
  if (entry.samples > limits.label_frames) return too_long("limit.label-frames", limits.label_frames, "label_frames");
  // The second test is by the utterance's own bytes, as it is read alone: other utterances' bytes do not count for it.
  const auto too_many = [&](const char* of, std::uint64_t labels, const char* in, std::uint64_t bytes) {
    return fault("limit.label-ratio",
                 of + ("the labels are of " + std::to_string(labels)) + " frames, the " + in + " has " +
                     counted(bytes, "byte") + "; the limit is " + counted(limits.label_ratio, "frame") + " a byte",
                 "if the labels are meant so, raise limits.label_ratio");
  };
  if (frames > kAnyRatio && frames > mul_sat(file_bytes, limits.label_ratio))
    return too_many("up to here ", frames, "file", file_bytes);
  if (entry.samples > kAnyRatio && entry.samples > mul_sat(entry.bytes + kBeside, limits.label_ratio))
    return too_many("", entry.samples, "utterance", entry.bytes);
  return std::nullopt;
}

void IndexBuilder::tell_limit(Fault fault) {
  if (!context_.lists_all) throw Error(std::move(fault));
  faults_.error(std::move(fault));
}

bool IndexBuilder::check(const IndexEntry& entry, const Position& at) {
  const std::uint64_t frames = file_frames_ + entry.samples;
  if (std::optional<Fault> fault = beyond_limit(entry, at, frames, file_bytes_.back(), utterance_room_)) {
    tell_limit(std::move(*fault));
    return false;
  }
  file_frames_ = frames;
  return true;
}

void IndexBuilder::add(const IndexEntry& entry, const Position& at) {
  if (!check(entry, at)) return;
  index_.entries.push_back(entry);
}

bool IndexBuilder::within_limits(const IndexEntries& entries, const io::File& file) const {
  const io::Room room = room_for_utterance(file, context_.limits);
  std::uint64_t frames = 0;
  for (const IndexEntry entry : entries) {
    frames += entry.samples;
    if (beyond_limit(entry, {}, frames, file.size(), room)) return false;
  }
  return true;
}

IndexEntries IndexBuilder::entries_of_file() {
  take_waiting();
  IndexEntries out;
  for (auto e = index_.entries.from(file_first_.back()); e != index_.entries.end(); ++e) out.push_back(*e);
  out.close();
  return out;
}

std::vector<std::uint64_t> IndexBuilder::counts() const {
  std::vector<std::uint64_t> out;
  for (const Count& c : counts_) out.push_back(c.n);
  return out;
}

bool IndexBuilder::add_counts(const std::vector<std::uint64_t>& counts, const std::string& file) {
  if (counts.size() != counts_.size()) return false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts_[i].n == 0) counts_[i].first_file = file;
    counts_[i].n += counts[i];
  }
  return true;
}

void IndexBuilder::skip(Fault fault) {
  fault.stream = options_.name;
  for (Count& c : counts_) {
    if (fault.id != c.id) continue;
    if (c.first_file.empty()) c.first_file = fault.at.file;
    ++c.n;
  }
  if (context_.check) {
    faults_.warning(std::move(fault));
  } else {
    faults_.info(std::move(fault));
  }
}

void IndexBuilder::refuse(Fault fault) {
  fault.stream = options_.name;
  if (!context_.check) throw Error(std::move(fault));
  faults_.error(std::move(fault));
}

void IndexBuilder::drop_duplicates() {
  // The entries whose key has occurred before.
  const std::vector<std::size_t> repeated = repeats(index_.entries, [](const auto& e) { return e.key; });
  if (repeated.empty()) return;
  IndexEntries kept;
  std::size_t file = 0, repeat = 0;
  const auto begin_files = [&](std::size_t i) {
    while (file < file_first_.size() && file_first_[file] == i) file_first_[file++] = kept.size();
  };
  for (auto e = index_.entries.begin(); e != index_.entries.end(); ++e) {
    begin_files(e.number());
    if (repeat == repeated.size() || repeated[repeat] != e.number()) {
      kept.push_back(*e);
      continue;
    }
    ++repeat;
    Fault fault{.kind = FaultKind::format,
                .id = "mlf.duplicate-key",
                .at = {.file = paths_[file - 1], .byte = e->begin, .line = e->aux, .has_byte = true},
                .what = "utterance '" + context_.keys->text(e->key) + "' occurs here a second time",
                .hint = options_.legacy ? "remove one of them" : "the first one is used"};
    if (options_.legacy) {
      refuse(std::move(fault));
    } else {
      skip(std::move(fault));
    }
  }
  begin_files(index_.entries.size());
  index_.entries = std::move(kept);
}

void IndexBuilder::repeat_file(const io::File& file, std::size_t earlier) {
  begin_file(file);
  const std::uint64_t utterances = file_first_[earlier + 1] - file_first_[earlier];
  if (utterances == 0) return;
  Fault fault{.kind = FaultKind::format,
              .id = "mlf.duplicate-key",
              .at = {.file = file.path()},
              .what = "the file is listed a second time, with all its utterances",
              .hint = options_.legacy ? "list it once" : "each is used once"};
  if (options_.legacy) return refuse(std::move(fault));
  for (Count& c : counts_) {
    if (fault.id == c.id) c.n += utterances - 1;
  }
  skip(std::move(fault));
}

void IndexBuilder::cut() {
  const auto& entries = index_.entries;
  for (std::size_t file = 0; file < file_first_.size(); ++file) {
    const std::uint64_t from = file_first_[file],
                        to = file + 1 < file_first_.size() ? file_first_[file + 1] : entries.size();
    const std::uint64_t limit = std::min(options_.chunk_bytes, file_bytes_[file]);
    std::uint64_t start = 0, end = 0;  // bytes of the current chunk
    std::uint64_t frames = 0;
    auto e = entries.from(from);
    for (std::uint64_t i = from; i < to; ++i, ++e) {
      // A few bytes can stand for many frames, so the frames of a chunk are limited, too.
      const std::uint64_t bytes = e->begin + e->bytes - start;
      const std::uint64_t most =
          std::min(context_.limits.label_frames, std::max(kAnyChunk, mul_sat(bytes, kFramesOfByte)));
      if (i == from || end - start + e->bytes > limit || frames + e->samples > most) {
        index_.chunk_first.push_back(i);
        index_.chunk_file.push_back(static_cast<std::uint32_t>(file));
        start = e->begin;
        frames = 0;
      }
      frames += e->samples;
      end = e->begin + e->bytes;
    }
  }
  index_.chunk_first.push_back(entries.size());
}

MlfIndex IndexBuilder::finish() {
  take_waiting();
  drop_duplicates();
  index_.entries.close();
  cut();
  for (const Count& c : counts_) {
    if (c.n == 0 || context_.check) continue;  // in check mode each has been reported
    index_.notices.push_back(
        {Severity::warning, Fault{.kind = FaultKind::format,
                                  .id = c.id,
                                  .at = {.file = c.first_file},
                                  .what = std::to_string(c.n) + ' ' + (c.n == 1 ? c.one : c.many) + " left out",
                                  .hint = "`check()` lists them",
                                  .stream = options_.name}});
  }
  if (index_.entries.empty()) {
    index_.notices.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                                       .id = "mlf.no-utterances",
                                                       .at = {.file = paths_.front()},
                                                       .what = "there is no utterance with labels",
                                                       .stream = options_.name}});
  }
  return std::move(index_);
}

}  // namespace batchfeed::mlf
