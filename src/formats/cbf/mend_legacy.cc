// SPDX-License-Identifier: MIT
//
// The older layout: its header stands in front, offsets count from behind the table.
#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"
#include "formats/cbf/mend.h"
#include "formats/cbf/mend_parts.h"

namespace batchfeed::cbf {

namespace {

// A stream's block: where it ends, and of sparse ones where its parts begin.
struct Block {
  bool sparse = false;
  std::uint64_t values_at = 0, rows_at = 0, columns_at = 0, end = 0, entries = 0;
};

class LegacyMender {
 public:
  LegacyMender(const io::File& file, io::AtomicFile& target, const FixOptions& options)
      : file_(file), options_(options), copy_(file, target, options) {}

  std::vector<Fix> run() {
    read_header();
    bool sound = true;
    for (std::size_t c = 0; c < rows_.size() && sound; ++c) {
      const std::uint64_t end = c + 1 < rows_.size() ? begin_of(rows_[c + 1]) : file_.size();
      sound = begin_of(rows_[c]) <= end && end_of(c, begin_of(rows_[c]), end).has_value();
    }
    if (!sound) compute();
    write();
    file_.expect_unchanged();
    std::vector<Fix> out;
    for (Fix* fix : {&offsets_, &sorted_}) {
      if (fix->count != 0) out.push_back(std::move(*fix));
    }
    return out;
  }

 private:
  template <class T>
  T field(Feed& feed) {
    if (feed.left() < sizeof(T)) copy_.give_up(feed.at(), "the header was cut off");
    return feed.get<T>();
  }

  void read_header() {
    Feed feed(file_, 8, file_.size(), scratch_);
    const auto chunks = field<std::int64_t>(feed);
    const auto streams = field<std::int32_t>(feed);
    if (streams < 1 || static_cast<std::uint64_t>(streams) > options_.limits.streams)
      copy_.give_up(feed.at() - 4, "it says that it has " + counted(streams, "stream"));
    for (std::int32_t s = 0; s < streams; ++s) streams_.push_back(stream(feed));
    if (chunks < 0 || static_cast<std::uint64_t>(chunks) > feed.left() / kRowBytes)
      copy_.give_up(8, "it says that it has " + counted(chunks, "chunk"));
    table_at_ = feed.at();
    data_at_ = table_at_ + static_cast<std::uint64_t>(chunks) * kRowBytes;
    for (std::int64_t c = 0; c < chunks; ++c)
      rows_.push_back({feed.get<std::int64_t>(), feed.get<std::uint32_t>(), feed.get<std::uint32_t>()});
  }

  FileStream stream(Feed& feed) {
    FileStream out;
    const auto name = field<std::int32_t>(feed);
    if (name < 0 || static_cast<std::uint32_t>(name) > options_.limits.name_bytes ||
        static_cast<std::uint32_t>(name) > feed.left())
      copy_.give_up(feed.at() - 4, "a stream's name has a length of " + std::to_string(name));
    feed.seek(feed.at() + static_cast<std::uint32_t>(name));
    const auto among = [&](const char* what, std::int32_t most) {
      const auto value = field<std::int32_t>(feed);
      if (value < 0 || value > most)
        copy_.give_up(feed.at() - 4, std::string("a stream's ") + what + " is " + std::to_string(value));
      return value;
    };
    out.storage = among("kind", 1) == 0 ? Storage::dense : Storage::sparse;
    if (out.storage == Storage::sparse) among("storage type", 0);
    out.element = among("element type", 1) == 0 ? Element::f32 : Element::f64;
    if (out.storage == Storage::sparse) among("is-sequence flag", 1);
    out.dim = static_cast<std::uint32_t>(among("dimension", 0x7FFFFFFF));
    if (out.dim == 0) copy_.give_up(feed.at() - 4, "a stream's dimension is 0");
    return out;
  }

  std::uint64_t begin_of(const TableRow& row) const {
    return row.offset < 0 ? ~0ull : add_sat(data_at_, static_cast<std::uint64_t>(row.offset));
  }

  // The block of a stream that begins at `at`, if it fits before `end` and what it says of
  // its sequences adds up.
  std::optional<Block> block_at(const FileStream& stream, std::uint32_t sequences, std::uint64_t at,
                                std::uint64_t end) {
    const std::uint64_t width = size_of(stream.element), left = end - at;
    if (stream.storage == Storage::dense) {
      const std::uint64_t bytes = mul_sat(sequences, stream.dim * width);
      if (bytes > left) return {};
      return Block{.end = at + bytes};
    }
    if (left < 4) return {};
    Feed feed(file_, at, end, scratch_);
    const auto entries = feed.get<std::int32_t>();
    if (entries < 0) return {};
    Block out{.sparse = true, .values_at = at + 4, .entries = static_cast<std::uint32_t>(entries)};
    const std::uint64_t bytes = out.entries * (width + 4) + (sequences + 1ull) * 4;
    if (bytes > left - 4) return {};
    out.rows_at = out.values_at + out.entries * width;
    out.columns_at = out.rows_at + out.entries * 4;
    out.end = out.values_at + bytes;
    feed.seek(out.columns_at);
    std::uint32_t before = 0;
    for (std::uint64_t s = 0; s <= sequences; ++s) {
      const auto column = feed.get<std::uint32_t>();
      if (column < before || column > out.entries || (s == 0 && column != 0)) return {};
      before = column;
    }
    if (before != out.entries) return {};
    return out;
  }

  std::optional<std::uint64_t> end_of(std::size_t c, std::uint64_t at, std::uint64_t end) {
    if (at > end || end > file_.size()) return {};
    for (const FileStream& stream : streams_) {
      const std::optional<Block> block = block_at(stream, rows_[c].sequences, at, end);
      if (!block) return {};
      at = block->end;
    }
    if (options_.progress) options_.progress(std::min(at, file_.size()), 2 * file_.size());
    return at;
  }

  // Chunks stand one behind the other, from the table to the end of the file.
  void compute() {
    std::uint64_t at = data_at_;
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      const auto offset = static_cast<std::int64_t>(at - data_at_);
      if (rows_[c].offset != offset) copy_.note(offsets_, table_at_ + c * kRowBytes);
      rows_[c].offset = offset;
      const std::optional<std::uint64_t> end = end_of(c, at, file_.size());
      if (!end) {
        copy_.give_up(at, "chunk " + std::to_string(c) + " with " + counted(rows_[c].sequences, "sequence") +
                              " does not fit the data that stand there");
      }
      at = *end;
    }
    if (at != file_.size())
      copy_.give_up(at, counted(file_.size() - at, "byte") + " behind the last chunk, where the file should end");
  }

  void write() {
    copy_.upto(table_at_);
    for (const TableRow& row : rows_) {
      copy_.put(row.offset);
      copy_.put(row.sequences);
      copy_.put(row.samples);
    }
    for (const TableRow& row : rows_) {
      std::uint64_t at = begin_of(row);
      for (const FileStream& stream : streams_) {
        const std::optional<Block> block = block_at(stream, row.sequences, at, file_.size());
        if (!block) return copy_.upto(file_.size());  // the file has changed meanwhile: expect_unchanged() throws
        if (block->sparse) sort(*block, row.sequences, size_of(stream.element));
        at = block->end;
      }
    }
    copy_.upto(file_.size());
  }

  // A row number says both sample and index, so entries in order of it are in order of both.
  void sort(const Block& block, std::uint32_t sequences, std::size_t width) {
    entries_.width = width;
    entries_.values.resize(block.entries * width);
    entries_.indices.resize(block.entries * 4);
    file_.read(block.values_at, entries_.values);
    file_.read(block.rows_at, entries_.indices);
    const std::uint64_t before = sorted_.count;
    Feed feed(file_, block.columns_at, block.end, scratch_);
    auto first = feed.get<std::uint32_t>();
    for (std::uint32_t s = 0; s < sequences; ++s) {
      const auto last = feed.get<std::uint32_t>();
      bool readable = true;  // a row below 0 belongs to no sample
      for (std::uint32_t i = first; i < last; ++i) readable = readable && entries_.index(i) >= 0;
      if (readable && entries_.sort(first, last)) copy_.note(sorted_, block.rows_at + std::uint64_t{first} * 4);
      first = last;
    }
    if (sorted_.count == before) return;
    copy_.upto(block.values_at);
    copy_.replace(block.rows_at, entries_.values);
    copy_.replace(block.columns_at, entries_.indices);
  }

  const io::File& file_;
  const FixOptions& options_;
  MendedCopy copy_;
  Buffer<std::byte> scratch_;
  std::vector<FileStream> streams_;  // names are not looked at
  std::vector<TableRow> rows_;
  std::uint64_t table_at_ = 0, data_at_ = 0;
  Entries entries_;
  Fix offsets_{.id = "fix.chunk-offset", .what = "offset of a chunk computed"};
  Fix sorted_ = sorted_fix();
};

}  // namespace

std::vector<Fix> mend_legacy(const io::File& file, io::AtomicFile& target, const FixOptions& options) {
  return LegacyMender(file, target, options).run();
}

}  // namespace batchfeed::cbf
