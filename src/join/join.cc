// SPDX-License-Identifier: MIT
#include "join/join.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "join/match.h"
#include "join/secondary.h"
#include "join/told.h"
#include "model/several.h"

namespace batchfeed::join {
namespace {

class Joined final : public Source, private RowReader {
 public:
  Joined(Sources sources, const Options& options) : sources_(std::move(sources)), options_(options) {
    collect_streams();
    for (std::size_t k = 1; k < sources_.size(); ++k)
      caches_.emplace_back(*sources_[k], most_kept(*sources_[k], options.cache_bytes));
    matches_ = match(sources_, sizing_, options_);
    if (options_.cut_again && !matches_.left_out.empty()) {
      options_.cut_again(matches_.left_out);
      matches_ = cut_again(primary(), std::move(matches_));
    }
    for (std::size_t k = 1; k < sources_.size(); ++k)
      readings_.push_back(choose_readings(*sources_[k], matches_.partners[k - 1], options_.cache_bytes));
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return matches_.chunks; }

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    primary().sequences(matches_.primary_chunk[chunk], out);
    keep_joined(matches_.first[chunk], out);
  }

  void read(std::uint32_t chunk, Chunk& out) const override {
    std::vector<Column> spare = take_partners(out);
    primary().read(matches_.primary_chunk[chunk], out);
    std::vector<SequenceInfo> table;
    primary().sequences(matches_.primary_chunk[chunk], table);
    add_partners(chunk, 0, false, table, std::move(spare), out);
  }

  const RowReader* row_reader(std::uint32_t chunk) const override {
    const bool all =
        std::all_of(readings_.begin(), readings_.end(), [](const Readings& r) { return r.some.has_value(); });
    return all && primary().row_reader(matches_.primary_chunk[chunk]) != nullptr ? this : nullptr;
  }

  std::string key_text(std::uint64_t key) const override { return primary().key_text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    return primary().place(matches_.primary_chunk[chunk], row);
  }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    std::vector<Place> out = {place(chunk, row)};
    if (row >= matches_.rows_of(chunk)) return out;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      const Location& at = matches_.partners[k - 1][matches_.first[chunk] + row];
      out.push_back(at.chunk == Location::kNone ? Place{} : sources_[k]->place(at.chunk, at.row));
    }
    return out;
  }
  std::vector<std::string> files() const override { return files_of(sources_); }
  bool splits_frames() const override { return primary().splits_frames(); }
  // Those of the sources as well: what was skipped in them while they were read is told nowhere else.
  std::vector<Notice> notices() const override { return notices_of(sources_, matches_.notices); }
  std::uint64_t fingerprint() const override { return fingerprint_of(sources_); }

 private:
  const Source& primary() const { return *sources_[0]; }

  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    const std::uint32_t own = matches_.primary_chunk[chunk];
    primary().row_reader(own)->sequences(own, rows, out);
    keep_joined(matches_.first[chunk] + rows.first, out);
  }

  RowMemory row_memory(std::uint32_t /*chunk*/) const override {
    const bool far_more = std::any_of(readings_.begin(), readings_.end(),
                                      [](const Readings& r) { return r.whole == Reading::run_by_run; });
    return far_more ? RowMemory::far_more : RowMemory::unknown;
  }

  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    const std::uint32_t own = matches_.primary_chunk[chunk];
    std::vector<Column> spare = take_partners(out);
    primary().row_reader(own)->read(own, rows, out);
    std::vector<SequenceInfo> table;
    primary().row_reader(own)->sequences(own, rows, table);
    add_partners(chunk, rows.first, true, table, std::move(spare), out);
  }

  // Leaves the joined sequences in a table, whose row 0 is row `first` of matches_.
  void keep_joined(std::uint64_t first, std::vector<SequenceInfo>& table) const {
    std::size_t kept = 0;
    for (const SequenceInfo& own : table) {
      if (matches_.samples[first + own.row] == 0) continue;
      table[kept] = own;
      table[kept++].samples = matches_.samples[first + own.row];
    }
    table.resize(kept);
  }

  // Takes the columns of the other sources out of a used chunk, to reuse their memory: the primary's read() keeps no
  // columns but its own.
  std::vector<Column> take_partners(Chunk& out) const {
    std::vector<Column> spare;
    for (std::size_t c = primary().streams().size(); c < out.columns.size(); ++c)
      spare.push_back(std::move(out.columns[c]));
    return spare;
  }

  // `table`: of the rows of `out`, which begin at row `first` of the chunk. `spare`: what take_partners() gave.
  void add_partners(std::uint32_t chunk, std::uint32_t first, bool by_rows, const std::vector<SequenceInfo>& table,
                    std::vector<Column> spare, Chunk& out) const {
    const std::size_t rows = out.columns.empty() ? 0 : out.columns[0].first_sample.size() - 1;
    for (Column& column : spare) out.columns.push_back(std::move(column));
    out.columns.resize(streams_.size());
    std::vector<std::uint32_t> lengths(rows, 0);
    std::vector<Location> where(rows);
    for (const SequenceInfo& s : table) lengths[s.row] = s.samples;
    std::size_t column = primary().streams().size();
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      for (const SequenceInfo& s : table)
        where[s.row] = matches_.partners[k - 1][matches_.first[chunk] + first + s.row];
      const Readings& readings = readings_[k - 1];
      fetch(*sources_[k], caches_[k - 1], by_rows ? *readings.some : readings.whole,
            {where, lengths, options_.frames, options_.strict}, column, out);
      column += sources_[k]->streams().size();
    }
    if (options_.frames) mark_shorter(table, out);
  }

  // Each frame of a sequence needs one of every stream.
  static void mark_shorter(const std::vector<SequenceInfo>& table, Chunk& out) {
    for (const SequenceInfo& s : table) {
      const bool whole = std::all_of(out.columns.begin(), out.columns.end(),
                                     [&](const Column& c) { return c.samples(s.row) >= s.samples; });
      if (whole || out.is_invalid(s.row)) continue;
      out.invalid.resize(out.columns[0].first_sample.size() - 1, Chunk::kValid);
      out.invalid[s.row] = Chunk::kUnpaid;
    }
  }

  void collect_streams() {
    std::set<std::string> seen;
    std::size_t defining_sources = 0;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      bool defines = false;
      for (const StreamInfo& s : sources_[k]->streams()) {
        if (!seen.insert(s.name).second) {
          throw refused("duplicate-stream", "two sources have a stream named '" + s.name + "'",
                        "give one of them another name (alias)");
        }
        defines = defines || s.defines_mb_size;
        streams_.push_back(s);
      }
      if (!defines) continue;
      sizing_ = k;
      if (++defining_sources > 1) {
        throw refused("two-definesMBSize", "more than one source has a stream with definesMBSize",
                      "keep it in one stream");
      }
    }
  }

  Sources sources_;
  Options options_;
  std::vector<StreamInfo> streams_;
  std::optional<std::size_t> sizing_;  // the source with definesMBSize
  Matches matches_;
  std::vector<Readings> readings_;  // per secondary
  std::deque<ChunkCache> caches_;
};

}  // namespace

std::unique_ptr<Source> join(std::vector<std::unique_ptr<Source>> sources, const Options& options) {
  return std::make_unique<Joined>(std::move(sources), options);
}

}  // namespace batchfeed::join
