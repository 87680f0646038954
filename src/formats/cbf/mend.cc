// SPDX-License-Identifier: MIT
#include "formats/cbf/mend.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"
#include "formats/cbf/mend_parts.h"

namespace batchfeed::cbf {

namespace {

struct Found {
  std::uint64_t at = 0, rows_at = 0;
  std::vector<FileStream> streams = {};  // names are not looked at
  std::vector<TableRow> rows = {};
};

class Mender {
 public:
  Mender(const io::File& file, io::AtomicFile& target, const FixOptions& options)
      : file_(file), options_(options), copy_(file, target, options) {}

  std::vector<Fix> run() {
    if (file_.size() < kPrefixBytes + kHeaderBytes + kTrailerBytes)
      copy_.give_up(file_.size(), "the file is too short");
    const auto first = Feed(file_, 0, 8, scratch_).get<std::uint64_t>();
    if (first != kMagic) copy_.give_up(0, "it does not begin as a binary corpus");
    const std::uint64_t trailer_at = file_.size() - kTrailerBytes;
    const auto said = Feed(file_, trailer_at, file_.size(), scratch_).get<std::uint64_t>();
    std::optional<Found> found = header_at(said, true);
    if (!found) {
      found = search();
      copy_.note(header_, trailer_at);
    }
    compute(*found);
    write(*found);
    file_.expect_unchanged();
    std::vector<Fix> out;
    for (Fix* fix : {&header_, &table_, &offsets_, &samples_, &sorted_}) {
      if (fix->count != 0) out.push_back(std::move(*fix));
    }
    return out;
  }

 private:
  // The header, if one stands at this byte and reaches to the trailer exactly; or, if the trailer leads to it and so it
  // is no chance, leaves bytes behind its table, which readers ignore.
  std::optional<Found> header_at(std::uint64_t at, bool is_said = false) {
    const std::uint64_t end = file_.size() - kTrailerBytes;
    if (at < kPrefixBytes || at > end - kHeaderBytes) return {};
    Feed feed(file_, at, end, scratch_);
    if (feed.get<std::uint64_t>() != kMagic) return {};
    Found out{.at = at};
    const auto chunks = feed.get<std::uint32_t>(), streams = feed.get<std::uint32_t>();
    if (streams == 0 || streams > options_.limits.streams) return {};
    for (std::uint32_t s = 0; s < streams; ++s) {
      FileStream& stream = out.streams.emplace_back();
      if (feed.left() < 5) return {};
      const auto encoding = feed.get<std::uint8_t>();
      const auto name = feed.get<std::uint32_t>();
      if (encoding > 1 || name > options_.limits.name_bytes || name + 5ull > feed.left()) return {};
      feed.next(name);
      const auto element = feed.get<std::uint8_t>();
      if (element > 1) return {};
      stream.storage = encoding == 0 ? Storage::dense : Storage::sparse;
      stream.element = element == 0 ? Element::f32 : Element::f64;
      stream.dim = feed.get<std::uint32_t>();
    }
    const std::uint64_t table = std::uint64_t{chunks} * kRowBytes;
    if (feed.left() < table || (feed.left() > table && !is_said)) return {};
    if (feed.left() > table) copy_.note(table_, feed.at() + table);
    out.rows_at = feed.at();
    out.rows.resize(chunks);
    for (TableRow& row : out.rows)
      row = {feed.get<std::int64_t>(), feed.get<std::uint32_t>(), feed.get<std::uint32_t>()};
    return out;
  }

  // For a trailer that leads to no header: looks for the only place that can be one.
  std::optional<Found> search() {
    constexpr std::size_t kBlock = 1u << 20;
    std::optional<Found> out;
    std::string block;
    const std::string magic(reinterpret_cast<const char*>(&kMagic), 8);
    for (std::uint64_t at = kPrefixBytes; at < file_.size(); at += kBlock) {
      block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock + 7, file_.size() - at)));
      file_.read(at, std::as_writable_bytes(std::span(block)));
      for (std::size_t i = block.find(magic); i != std::string::npos; i = block.find(magic, i + 1)) {
        std::optional<Found> one = header_at(at + i);
        if (one && out) copy_.give_up(one->at, "there are two places that could be its header");
        if (one) out = std::move(one);
      }
    }
    if (!out) copy_.give_up(file_.size(), "no header is in it; the file was cut off");
    return out;
  }

  // Computes the offsets and samples of the table from the data.
  void compute(Found& found) {
    Feed feed(file_, kPrefixBytes, found.at, scratch_);
    for (std::size_t c = 0; c < found.rows.size(); ++c) {
      TableRow& row = found.rows[c];
      const std::uint64_t begin = feed.at(), row_at = found.rows_at + c * kRowBytes;
      const std::uint64_t samples = walk(found, c, feed);
      if (row.offset != static_cast<std::int64_t>(begin)) copy_.note(offsets_, row_at);
      if (row.samples != samples) copy_.note(samples_, row_at + 12);
      row.offset = static_cast<std::int64_t>(begin);
      row.samples = static_cast<std::uint32_t>(samples);
      if (options_.progress) options_.progress(feed.at(), 2 * file_.size());
    }
    if (feed.left() != 0)
      copy_.give_up(feed.at(), counted(feed.left(), "byte") + " behind the last chunk, where the header is expected");
  }

  // Passes over the data of chunk c; returns the sum of its sequences' lengths.
  std::uint64_t walk(const Found& found, std::size_t c, Feed& feed) const {
    const TableRow& row = found.rows[c];
    const auto take = [&](std::uint64_t bytes) {
      if (bytes <= feed.left()) return;
      copy_.give_up(feed.at(), "chunk " + std::to_string(c) + " with " + counted(row.sequences, "sequence") +
                                   " reaches beyond the data");
    };
    take(std::uint64_t{row.sequences} * 4);
    std::uint64_t samples = 0;
    for (std::uint32_t s = 0; s < row.sequences; ++s) samples += feed.get<std::uint32_t>();
    if (samples > std::numeric_limits<std::uint32_t>::max())
      copy_.give_up(feed.at(), "chunk " + std::to_string(c) + " has more samples than 32 bits can say");
    for (const FileStream& stream : found.streams) {
      const std::uint64_t width = size_of(stream.element);
      for (std::uint32_t s = 0; s < row.sequences; ++s) {
        take(4);
        const std::uint64_t n = feed.get<std::uint32_t>();
        std::uint64_t bytes = mul_sat(n, mul_sat(stream.dim, width));
        if (stream.storage == Storage::sparse) {
          take(4);
          const auto entries = feed.get<std::int32_t>();
          if (entries < 0) copy_.give_up(feed.at() - 4, "a sequence has a negative number of entries");
          bytes = static_cast<std::uint64_t>(entries) * (width + 4) + n * 4;
        }
        take(bytes);
        feed.seek(feed.at() + bytes);
      }
    }
    return samples;
  }

  void write(const Found& found) {
    Feed feed(file_, kPrefixBytes, found.at, scratch_);
    for (const TableRow& row : found.rows) {
      feed.seek(feed.at() + std::uint64_t{row.sequences} * 4);
      for (const FileStream& stream : found.streams) {
        for (std::uint32_t s = 0; s < row.sequences; ++s) {
          const std::uint64_t n = feed.get<std::uint32_t>();
          if (stream.storage == Storage::sparse) {
            sort(feed, n, size_of(stream.element));
          } else {
            feed.seek(feed.at() + n * stream.dim * size_of(stream.element));
          }
        }
      }
    }
    copy_.upto(found.rows_at);
    for (const TableRow& row : found.rows) {
      copy_.put(static_cast<std::uint64_t>(row.offset));
      copy_.put(row.sequences);
      copy_.put(row.samples);
    }
    copy_.put(found.at);
  }

  // `feed` stands behind the number of samples of a sequence that walk() has seen.
  void sort(Feed& feed, std::uint64_t samples, std::size_t width) {
    const auto entries = static_cast<std::size_t>(feed.get<std::int32_t>());
    const std::uint64_t values_at = feed.at(), indices_at = values_at + entries * width;
    entries_.width = width;
    entries_.values.resize(entries * width);
    entries_.indices.resize(entries * 4);
    feed.copy(entries_.values.data(), entries_.values.size());
    feed.copy(entries_.indices.data(), entries_.indices.size());
    std::size_t first = 0;
    bool sorted = false, fits = true;
    for (std::uint64_t k = 0; k < samples; ++k) {
      const auto n = static_cast<std::size_t>(feed.get<std::uint32_t>());
      fits = fits && n <= entries - first;  // else it is not known which entries are whose
      if (!fits) continue;
      sorted = entries_.sort(first, first + n) || sorted;
      first += n;
    }
    if (!fits || !sorted || first != entries) return;
    copy_.note(sorted_, indices_at);
    copy_.upto(values_at);
    copy_.replace(indices_at, entries_.values);
    copy_.replace(indices_at + entries * 4, entries_.indices);
  }

  const io::File& file_;
  const FixOptions& options_;
  MendedCopy copy_;
  Buffer<std::byte> scratch_;
  Fix table_{.id = "fix.chunk-table", .what = "bytes behind the chunk table removed"};
  Fix header_{.id = "fix.header-place", .what = "place of the header found and written"};
  Fix offsets_{.id = "fix.chunk-offset", .what = "offset of a chunk computed"};
  Entries entries_;
  Fix samples_{.id = "fix.chunk-samples", .what = "number of samples of a chunk counted"};
  Fix sorted_ = sorted_fix();
};

}  // namespace

std::vector<Fix> mend(const io::File& file, io::AtomicFile& target, const FixOptions& options) {
  Buffer<std::byte> scratch;
  const bool legacy = file.size() >= 8 && Feed(file, 0, 8, scratch).get<std::uint64_t>() == 1;
  return legacy ? mend_legacy(file, target, options) : Mender(file, target, options).run();
}

}  // namespace batchfeed::cbf
