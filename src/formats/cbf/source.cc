// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "base/quoted.h"
#include "base/saturate.h"
#include "base/words.h"
#include "formats/cbf/cbf.h"
#include "formats/cbf/decode.h"
#include "formats/cbf/header.h"
#include "formats/cbf/keys.h"
#include "formats/cbf/lengths.h"
#include "formats/cbf/nearby.h"
#include "formats/cbf/parts.h"
#include "model/fault_sink.h"

namespace batchfeed::cbf {
namespace {

// The name a stream of the file is delivered under: of several renames of it the
// one that sorts last.
std::string delivered_name(const std::string& stream, const std::vector<CbfOptions::Rename>& renames) {
  const CbfOptions::Rename* best = nullptr;
  for (const CbfOptions::Rename& r : renames) {
    if (r.alias != stream || r.name.empty()) continue;
    if (best == nullptr || lower(best->name) <= lower(r.name)) best = &r;
  }
  return best == nullptr ? stream : best->name;
}

// What to do about a name that no stream of the file has.
std::string instead_of(const std::string& name, const std::vector<FileStream>& streams) {
  constexpr std::size_t kLongest = 128;  // that is compared
  Nearest nearest(name, std::min<std::size_t>(4, name.size() / 3 + 1) + 1);
  std::string all;
  for (const FileStream& stream : streams) {
    if (name.size() <= kLongest && stream.name.size() <= kLongest) nearest.offer(stream.name);
    if (&stream == &streams.front() || all.size() < kLongest) all += (all.empty() ? "" : ", ") + quoted(stream.name);
  }
  return nearest.best().empty() ? "the file has " + all : "did you mean " + quoted(nearest.best()) + "?";
}

class CbfSource final : public Source, private RowReader {
 public:
  CbfSource(const CbfOptions& options, const std::string& file, const OpenContext& context)
      : file_(file, context.file_system, context.limits),
        file_system_(context.file_system),
        faults_(file),
        limits_(context.limits),
        sink_(file, ~0ull, options.trace_level, context.report, context.check ? 0 : FaultSink::kPerId,
              context.count_only),
        check_(context.check),
        header_(read_header(file_, limits_, sink_)),
        nearby_(file_),
        parts_(decoder(), file_, nearby_,
               [this](std::uint32_t chunk, std::uint64_t warned_to, Chunk& out) { read(chunk, warned_to, out); }) {
    if (context.keys && context.keys->mode() != KeyMode::numeric) {
      throw Error(Fault{.kind = FaultKind::config,
                        .id = "cbf.keys-not-numeric",
                        .at = {.file = file},
                        .what = "sequences of this format are numbered, the reader compares keys as text",
                        .hint = "set `useNumericSequenceKeys = true`"});
    }
    name_streams(options);
    expect_streams(options);
    index(context);
    file_.expect_unchanged();
    if (has_other_keys(file, all_sequences_, file_.size(), file_system_)) {
      sink_.warning(Fault{.kind = FaultKind::stale,
                          .id = "cbf.keys-not-used",
                          .at = {.file = keys_path(file)},
                          .what = "these keys belong to other data; sequences have their numbers",
                          .hint = "write the file again with its keys, or delete the keys"});
    }
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    sequences(chunk, {0, header_.chunks[tables_[chunk].in_header].sequences}, out);
  }

  void read(std::uint32_t chunk, Chunk& out) const override { read(chunk, 0, out); }

  // What has to be fetched or unpacked is better read in large parts.
  const RowReader* row_reader(std::uint32_t chunk) const override {
    return check_ || file_.is_remote() || file_.is_compressed() || !parts_.can(which(chunk)) ? nullptr : this;
  }

  std::string key_text(std::uint64_t key) const override {
    std::call_once(keys_once_, [this] { keys_ = Keys(file_.path(), all_sequences_, file_.size(), file_system_); });
    return keys_.empty() || key >= all_sequences_ ? std::to_string(key) : std::string(keys_[key]);
  }

  Place place(std::uint32_t chunk, std::uint32_t) const override {
    const FileChunk& stored = header_.chunks[tables_[chunk].in_header];
    return {.file = file_.path(), .begin = stored.begin, .end = stored.end};
  }

  std::vector<std::string> files() const override { return {file_.path()}; }

  std::uint64_t fingerprint() const override {
    return Fingerprint().add(Source::fingerprint()).add(file_.size()).value();
  }

  std::vector<Notice> notices() const override { return sink_.finish(); }

 private:
  struct Table {
    std::size_t in_header = 0;  // its number there
    std::uint64_t first_key = 0;
    Lengths lengths;
  };

  Decoder decoder(std::uint64_t warned_to = 0) const {
    return {header_, streams_, limits_, faults_, sink_, check_, warned_to};
  }
  Parts::Which which(std::uint32_t chunk) const { return {chunk, tables_[chunk].in_header, tables_[chunk].lengths}; }

  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.clear();
    const Table& table = tables_[chunk];
    out.reserve(rows.last - rows.first);
    for (std::uint32_t s = rows.first; s < rows.last; ++s) {
      if (table.lengths[s] != 0) out.push_back({table.first_key + s, s - rows.first, table.lengths[s]});
    }
  }
  void read(std::uint32_t chunk, std::uint64_t warned_to, Chunk& out) const {
    const Table& table = tables_[chunk];
    const FileChunk& stored = header_.chunks[table.in_header];
    const Nearby::Lease lease = nearby_.chunk(stored.begin, stored.end);
    Feed feed = lease.feed();
    decode(decoder(warned_to), table.in_header, table.lengths, feed, out);
    file_.expect_unchanged();
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    const Table& table = tables_[chunk];
    // Sequences of length 0 at the end of the chunk, which no caller asks for, are checked along with the last rows.
    if (table.lengths.before(rows.last) == table.lengths.sum()) rows.last = header_.chunks[table.in_header].sequences;
    parts_.read(which(chunk), rows, out);
    file_.expect_unchanged();
  }
  RowMemory row_memory(std::uint32_t) const override { return RowMemory::as_stored; }

  void name_streams(const CbfOptions& options) {
    for (const FileStream& stream : header_.streams) {
      if (stream.element != options.element && !options.convert_element) {
        const std::string held(precision_of(stream.element)), asked(precision_of(options.element));
        faults_.fail("cbf.precision-mismatch", stream.element_at,
                     "stream '" + printable(stream.name) + "': the file holds " + held + ", " + asked + " is asked for",
                     "ask for `precision = " + held + "`", stream.name);
      }
      StreamInfo info{.name = delivered_name(stream.name, options.renames),
                      .dim = stream.dim,
                      .storage = stream.storage,
                      .element = options.element};
      for (const StreamInfo& other : streams_) {
        if (other.name != info.name) continue;
        faults_.fail("cbf.duplicate-stream", stream.element_at,
                     "two streams are named '" + printable(info.name) + "' after renaming", "rename one of them",
                     info.name);
      }
      streams_.push_back(std::move(info));
    }
  }

  // A rename whose alias no stream has is ignored, as in the reference. It is warned of, unless a stream has the new
  // name already, as in files converted from text: the alias is probably misspelt.
  void expect_streams(const CbfOptions& options) {
    const auto has = [this](const std::string& name) {
      return std::ranges::any_of(header_.streams, [&](const FileStream& stream) { return stream.name == name; });
    };
    for (const CbfOptions::Rename& rename : options.renames) {
      if (has(rename.alias) || rename.name.empty() || has(rename.name)) continue;
      sink_.warning(
          Fault{.kind = FaultKind::config,
                .id = "cbf.unknown-stream",
                .at = {.file = file_.path()},
                .what = "stream " + quoted(rename.name) + " is asked for, and none is named " + quoted(rename.alias),
                .hint = instead_of(rename.alias, header_.streams)});
    }
  }

  // Reads the lengths of all sequences, so that tables, sums and data agree from
  // the start whatever the header claims.
  void index(const OpenContext& context) {
    std::uint64_t key = 0;
    std::uint64_t samples = 0;
    std::uint64_t zeros = 0;
    for (std::size_t i = 0; i < header_.chunks.size(); ++i) {
      const FileChunk& stored = header_.chunks[i];
      Table table{.in_header = i, .first_key = key, .lengths = {}};
      if (stored.sequences > 0) {
        const Nearby::Lease lease = nearby_.prefix(
            stored.begin, stored.end,
            header_.layout == Layout::modern ? std::uint64_t{stored.sequences} * 4 : stored.end - stored.begin);
        Feed feed = lease.feed();
        table.lengths = read_lengths(header_, i, feed, faults_);
      }
      key += stored.sequences;
      compare_samples(i, table.lengths.sum());
      expect_room(i, table.lengths.sum());
      zeros += table.lengths.zeros();
      if (stored.sequences == 0 && stored.end != stored.begin) {
        sink_.warning(faults_.make("cbf.trailing-bytes-in-chunk", stored.begin,
                                   "chunk " + std::to_string(i) + ": " + counted(stored.end - stored.begin, "byte") +
                                       ", and no sequence according to the chunk table"));
      }
      if (table.lengths.sum() > 0) {  // an order has no place for a chunk without samples
        samples += table.lengths.sum();
        chunks_.push_back({.sequences = stored.sequences - table.lengths.zeros(),
                           .samples = table.lengths.sum(),
                           .bytes = stored.end - stored.begin});
        tables_.push_back(std::move(table));
      }
      if (context.progress) context.progress(stored.end, file_.size());
    }
    all_sequences_ = key;
    if (zeros > 0) {
      sink_.warning(Fault{.kind = FaultKind::format,
                          .id = "cbf.empty-sequence",
                          .at = {.file = file_.path()},
                          .what = std::to_string(zeros) + (zeros == 1 ? " sequence has length 0 and is left out"
                                                                      : " sequences have length 0 and are left out"),
                          .hint = "their numbers stay unused"});
    }
    if (samples == 0) {
      std::uint64_t bare = kPrefixBytes + kHeaderBytes + kTrailerBytes;
      for (const FileStream& s : header_.streams) bare += kStreamBytes + s.name.size();
      const bool has_more = header_.chunks.empty() && header_.layout == Layout::modern && file_.size() > bare;
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "cbf.no-samples",
                        .at = {.file = file_.path()},
                        .what = "no samples: " + counted(header_.chunks.size(), "chunk") + " with " +
                                counted(key, "sequence") + " of length 0",
                        .hint = has_more ? "but the file holds more than its header: make or fetch it again"
                                         : "the corpus it was written from was empty"});
    }
  }

  // An order is planned over all samples, so a few bytes must not claim billions. In the modern layout a sample takes
  // at least 4 bytes of the longest stream; in the older one empty samples take none, so 16 are allowed per 4 bytes.
  void expect_room(std::size_t chunk, std::uint64_t samples) const {
    const FileChunk& stored = header_.chunks[chunk];
    const std::uint64_t words = (stored.end - stored.begin) / 4;
    const std::uint64_t most = add_sat(limits_.implied_samples, header_.layout == Layout::modern ? words : 16 * words);
    if (samples <= most) return;
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.claimed-samples",
                      .at = {.file = file_.path(), .byte = stored.begin, .has_byte = true},
                      .what = "chunk " + std::to_string(chunk) + ": the lengths of its sequences claim " +
                              counted(samples, "sample") + ", the limit is " + std::to_string(most),
                      .hint = "write the file anew, or raise limits.implied_samples"});
  }

  void compare_samples(std::size_t chunk, std::uint64_t sum) const {
    const FileChunk& stored = header_.chunks[chunk];
    if (sum == stored.samples) return;
    Fault fault = faults_.make("cbf.sample-count-mismatch", stored.at + 12,
                               "chunk " + std::to_string(chunk) + ": the table says " +
                                   counted(stored.samples, "sample") + ", its sequences have " + std::to_string(sum),
                               "the lengths of the sequences are used");
    // Writers of the older layout often put the number of sequences in place of that of samples.
    const bool is_usual = header_.layout == Layout::legacy && stored.samples == stored.sequences;
    if (is_usual) {
      sink_.info(std::move(fault));
    } else {
      sink_.warning(std::move(fault));
    }
  }

  io::File file_;
  FileSystem file_system_;
  Faults faults_;
  Limits limits_;
  mutable FaultSink sink_;
  bool check_;
  Header header_;
  Nearby nearby_;
  Parts parts_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
  std::vector<Table> tables_;  // as chunks_
  std::uint64_t all_sequences_ = 0;
  mutable std::once_flag keys_once_;
  mutable Keys keys_;
};

}  // namespace

std::unique_ptr<Source> open(const CbfOptions& options, const std::string& file, const OpenContext& context) {
  return std::make_unique<CbfSource>(options, file, context);
}

}  // namespace batchfeed::cbf
