// SPDX-License-Identifier: MIT
#include "join/join.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "join/secondary.h"

namespace batchfeed::join {
namespace {

std::string names_of(const Source& source) {
  std::string out;
  for (const StreamInfo& s : source.streams()) out += (out.empty() ? "'" : ", '") + s.name + '\'';
  return out;
}

Fault config_fault(std::string id, std::string what, std::string hint) {
  return {.kind = FaultKind::config, .id = "join." + std::move(id), .what = std::move(what), .hint = std::move(hint)};
}

// A count that people can read: 10,000.
std::string count(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

class Joined final : public Source, private RowReader {
 public:
  Joined(std::vector<std::unique_ptr<Source>> sources, const Options& options)
      : sources_(std::move(sources)), options_(options) {
    collect_streams();
    for (std::size_t k = 1; k < sources_.size(); ++k)
      caches_.emplace_back(*sources_[k], most_kept(*sources_[k], options.cache_bytes));
    match();
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    primary().sequences(primary_chunk_[chunk], out);
    keep_joined(first_[chunk], out);
  }

  void read(std::uint32_t chunk, Chunk& out) const override {
    primary().read(primary_chunk_[chunk], out);
    std::vector<SequenceInfo> table;
    primary().sequences(primary_chunk_[chunk], table);
    add_partners(chunk, 0, false, table, out);
  }

  const RowReader* row_reader(std::uint32_t chunk) const override {
    const bool all =
        std::all_of(readings_.begin(), readings_.end(), [](const Readings& r) { return r.some.has_value(); });
    return all && primary().row_reader(primary_chunk_[chunk]) != nullptr ? this : nullptr;
  }

  std::string key_text(std::uint64_t key) const override { return primary().key_text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    return primary().place(primary_chunk_[chunk], row);
  }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    std::vector<Place> out = {place(chunk, row)};
    if (row >= rows_of(chunk)) return out;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      const Location& at = partners_[k - 1][first_[chunk] + row];
      out.push_back(at.chunk == Location::kNone ? Place{} : sources_[k]->place(at.chunk, at.row));
    }
    return out;
  }
  bool splits_frames() const override { return primary().splits_frames(); }
  // Those of the sources as well: what was skipped in them while they were read is told nowhere else.
  std::vector<Notice> notices() const override {
    std::vector<Notice> out = notices_;
    for (const auto& source : sources_) {
      for (Notice& n : source->notices()) out.push_back(std::move(n));
    }
    return out;
  }

  std::uint64_t fingerprint() const override {
    Fingerprint print;
    for (const auto& source : sources_) print.add(source->fingerprint());
    return print.value();
  }

 private:
  const Source& primary() const { return *sources_[0]; }
  // Rows of a joined chunk that sequences are in.
  std::uint64_t rows_of(std::uint32_t chunk) const {
    return (chunk + 1 < first_.size() ? first_[chunk + 1] : samples_.size()) - first_[chunk];
  }

  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    const std::uint32_t own = primary_chunk_[chunk];
    primary().row_reader(own)->sequences(own, rows, out);
    keep_joined(first_[chunk] + rows.first, out);
  }

  RowMemory row_memory(std::uint32_t /*chunk*/) const override {
    const bool far_more = std::any_of(readings_.begin(), readings_.end(),
                                      [](const Readings& r) { return r.whole == Reading::run_by_run; });
    return far_more ? RowMemory::far_more : RowMemory::unknown;
  }

  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    const std::uint32_t own = primary_chunk_[chunk];
    primary().row_reader(own)->read(own, rows, out);
    std::vector<SequenceInfo> table;
    primary().row_reader(own)->sequences(own, rows, table);
    add_partners(chunk, rows.first, true, table, out);
  }

  // `first`: where the rows of a table begin below.
  void keep_joined(std::uint64_t first, std::vector<SequenceInfo>& table) const {
    std::size_t kept = 0;
    for (const SequenceInfo& own : table) {
      if (samples_[first + own.row] == 0) continue;
      table[kept] = own;
      table[kept++].samples = samples_[first + own.row];
    }
    table.resize(kept);
  }

  // `table`: of the rows of `out`, which begin at row `first` of the chunk.
  void add_partners(std::uint32_t chunk, std::uint32_t first, bool by_rows, const std::vector<SequenceInfo>& table,
                    Chunk& out) const {
    const std::size_t rows = out.columns.empty() ? 0 : out.columns[0].first_sample.size() - 1;
    out.columns.resize(streams_.size());
    std::vector<std::uint32_t> lengths(rows, 0);
    std::vector<Location> where(rows);
    for (const SequenceInfo& s : table) lengths[s.row] = s.samples;
    std::size_t column = primary().streams().size();
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      for (const SequenceInfo& s : table) where[s.row] = partners_[k - 1][first_[chunk] + first + s.row];
      const Readings& readings = readings_[k - 1];
      fetch(*sources_[k], caches_[k - 1], by_rows ? *readings.some : readings.whole, {where, lengths, options_.frames},
            column, out);
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
          throw Error(config_fault("duplicate-stream", "two sources have a stream named '" + s.name + "'",
                                   "give one of them another name (alias)"));
        }
        defines = defines || s.defines_mb_size;
        streams_.push_back(s);
      }
      if (!defines) continue;
      sizing_ = k;
      if (++defining_sources > 1) {
        throw Error(config_fault("two-definesMBSize", "more than one source has a stream with definesMBSize",
                                 "keep it in one stream"));
      }
    }
  }

  // Sequences of one kind that the join leaves out or finds odd: their number and
  // the first keys.
  struct Odd {
    const char* id;
    std::uint64_t n = 0;
    std::vector<std::uint64_t> first = {};
  };

  // One more, which is `what`.
  void add(Odd& odd, const Source& source, std::uint64_t key, std::uint32_t chunk, std::uint32_t row,
           const std::string& what) {
    if (odd.n++ < 3) odd.first.push_back(key);
    if (!options_.each) return;
    options_.each(Fault{.kind = FaultKind::format,
                        .id = "join." + std::string(odd.id),
                        .at = source.place(chunk, row).position(),
                        .what = "sequence '" + source.key_text(key) + "' " + what});
  }

  // Per secondary source, what became of the primary's sequences.
  struct Lost {
    Odd missing{"no-partner"}, other{"other-length"};
    std::uint64_t gone() const { return missing.n + other.n; }
  };
  // And which of those that stay are odd.
  struct Unequal {
    Odd shorter{"shorter"}, longer{"longer"}, any{"unequal-length"};
  };

  // The nominal length of a joined sequence (minibatch.md 2.2), or 0: dropped.
  std::uint32_t nominal(const SequenceInfo& own, std::uint32_t chunk, std::vector<Location>& partners,
                        std::vector<Lost>& lost, std::vector<Unequal>& unequal) {
    std::uint32_t samples = own.samples;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      const Location& at = partners[k - 1];
      if (broadcasts(k)) continue;
      const auto lengths = [&] {
        return "has " + counted(own.samples, "sample") + " in " + names_of(primary()) + " and " +
               std::to_string(at.samples) + " in " + names_of(*sources_[k]);
      };
      if (options_.exact) {
        if (at.samples == own.samples) continue;
        add(lost[k - 1].other, primary(), own.key, chunk, own.row, lengths() + "; left out");
        return 0;
      }
      if (options_.frames && at.samples < own.samples) {
        if (sources_[k]->splits_frames()) {
          throw Error(Fault{
              .kind = FaultKind::format,
              .id = "join.too-few-frames",
              .what = "sequence '" + primary().key_text(own.key) + "' has " + counted(own.samples, "frame") + " in " +
                      names_of(primary()) + ", but only " + std::to_string(at.samples) + " in " +
                      names_of(*sources_[k]),
              .hint =
                  "in frame mode every source needs all frames; use `expandToUtterance` for one vector an utterance"});
        }
        // It keeps its place in the order, but is damaged.
        add(unequal[k - 1].shorter, primary(), own.key, chunk, own.row, lengths() + "; not delivered");
      } else if (at.samples != own.samples && k < options_.same_length.size() && options_.same_length[k]) {
        add(options_.frames ? unequal[k - 1].longer : unequal[k - 1].any, primary(), own.key, chunk, own.row,
            lengths());
      }
      if (!options_.frames) samples = std::max(samples, at.samples);
    }
    if (sizing_ && !options_.frames) samples = *sizing_ == 0 ? own.samples : partners[*sizing_ - 1].samples;
    return samples;
  }

  bool broadcasts(std::size_t k) const {
    return std::all_of(sources_[k]->streams().begin(), sources_[k]->streams().end(),
                       [](const StreamInfo& s) { return s.broadcast; });
  }

  void match() {
    std::vector<KeyIndex> indices;
    for (std::size_t k = 1; k < sources_.size(); ++k) indices.emplace_back(*sources_[k]);
    partners_.resize(indices.size());
    std::vector<Lost> lost(indices.size());
    std::vector<Unequal> unequal(indices.size());
    std::uint64_t total = 0;
    std::vector<SequenceInfo> table;
    std::vector<Location> partners(indices.size());
    for (std::uint32_t c = 0; c < primary().chunks().size(); ++c) {
      primary().sequences(c, table);
      const std::uint64_t first = samples_.size();
      std::uint64_t rows = 0;
      for (const SequenceInfo& own : table) rows = std::max(rows, std::uint64_t{own.row} + 1);
      samples_.resize(first + rows, 0);
      for (auto& p : partners_) p.resize(first + rows);
      ChunkInfo info{.sequences = 0, .samples = 0, .bytes = primary().chunks()[c].bytes};
      for (const SequenceInfo& own : table) {
        ++total;
        bool found = true;
        for (std::size_t k = 0; k < indices.size() && found; ++k) {
          const Location* at = indices[k].find(own.key);
          found = at != nullptr;
          if (found) {
            partners[k] = *at;
          } else {
            add(lost[k].missing, primary(), own.key, c, own.row,
                "of " + names_of(primary()) + " has no partner in " + names_of(*sources_[k + 1]) + "; left out");
          }
        }
        const std::uint32_t samples = found ? nominal(own, c, partners, lost, unequal) : 0;
        if (samples == 0) continue;
        samples_[first + own.row] = samples;
        for (std::size_t k = 0; k < indices.size(); ++k) partners_[k][first + own.row] = partners[k];
        ++info.sequences;
        info.samples += samples;
      }
      if (info.sequences == 0) {
        samples_.resize(first);
        for (auto& p : partners_) p.resize(first);
        continue;
      }
      chunks_.push_back(info);
      primary_chunk_.push_back(c);
      first_.push_back(first);
    }
    for (std::size_t k = 0; k < indices.size(); ++k)
      readings_.push_back(choose_readings(*sources_[k + 1], partners_[k], options_.cache_bytes));
    std::uint64_t gone = 0;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      gone += lost[k].gone();
      note_lost(*sources_[k + 1], total, lost[k], unequal[k]);
      note_secondary(k + 1, indices[k]);
    }
    if (options_.exact && gone > total / 2) {
      throw Error(config_fault("most-left-out",
                               count(gone) + " of " + count(total) + " sequences of " + names_of(primary()) +
                                   " have no partner of the same length" +
                                   (notices_.empty() ? "" : ": " + notices_.front().fault.what),
                               "check that features and labels belong together"));
    }
    if (chunks_.empty()) {
      throw Error(config_fault("no-common-keys",
                               "the keys of the sources do not match: no sequence of " + names_of(primary()) +
                                   " has a partner in every other source (" + some_keys() + ")",
                               "check that the sources belong together and use the same kind of keys"));
    }
  }

  void note(std::string id, std::string what, std::string hint) {
    notices_.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                                 .id = "join." + std::move(id),
                                                 .what = std::move(what),
                                                 .hint = std::move(hint)}});
  }

  std::string list(const Source& source, const std::vector<std::uint64_t>& keys) const {
    std::string out;
    for (const std::uint64_t key : keys) out += (out.empty() ? "" : ", ") + source.key_text(key);
    return out;
  }

  // Keys as each source has them: most often they differ in a folder or an extension.
  std::string some_keys() const {
    std::string out;
    std::vector<SequenceInfo> table;
    for (const auto& source : sources_) {
      if (source->chunks().empty()) continue;
      source->sequences(0, table);
      if (table.empty()) continue;
      out += (out.empty() ? "the first of " : ", of ") + names_of(*source) + ": '" +
             source->key_text(table.front().key) + "'";
    }
    return out;
  }

  void note_lost(const Source& other, std::uint64_t total, const Lost& lost, const Unequal& unequal) {
    if (options_.each) return;
    const auto tell = [&](const Odd& odd, const std::string& what, std::string hint) {
      if (odd.n == 0) return;
      note(odd.id,
           count(odd.n) + " of " + count(total) + " sequences of " + names_of(primary()) + ' ' + what +
               ", first: " + list(primary(), odd.first),
           std::move(hint));
    };
    const std::string names = names_of(other);
    const char* const hint = "`check()` lists them";
    tell(lost.missing, "have no partner in " + names + " and were left out", hint);
    tell(lost.other, "have another length in " + names + " and were left out", hint);
    tell(unequal.shorter, "have fewer samples in " + names + " and are not delivered; they count against `maxErrors`",
         hint);
    tell(unequal.longer, "have more samples in " + names + ", of which the last are not used", hint);
    tell(unequal.any, "have another length in " + names + " and are delivered as they are", hint);
  }

  void note_secondary(std::size_t k, const KeyIndex& index) {
    std::vector<KeyIndex::Unused> unused;
    const std::uint64_t n = index.unused(options_.each ? ~std::size_t{0} : 3, unused);
    Odd odd{"no-partner"};
    for (const KeyIndex::Unused& one : unused)
      add(odd, *sources_[k], one.key, one.at.chunk, one.at.row,
          "of " + names_of(*sources_[k]) + " has no partner in " + names_of(primary()));
    if (n != 0 && !options_.each) {
      note("no-partner",
           count(n) + " of " + count(index.sequences()) + " sequences of " + names_of(*sources_[k]) +
               " have no partner in " + names_of(primary()) + ", first: " + list(*sources_[k], odd.first),
           "`check()` lists them");
    }
    if (index.repeated() != 0) {
      note("repeated-key",
           "a key comes back in " + names_of(*sources_[k]) + " (" + count(index.repeated()) +
               " times, first: " + sources_[k]->key_text(index.first_repeated()) + "); its first sequence is used",
           "give each sequence a key of its own");
    }
  }

  std::vector<std::unique_ptr<Source>> sources_;
  Options options_;
  std::vector<StreamInfo> streams_;
  std::optional<std::size_t> sizing_;  // the source with definesMBSize
  std::vector<ChunkInfo> chunks_;
  std::vector<std::uint32_t> primary_chunk_;     // of a joined chunk
  std::vector<std::uint64_t> first_;             // of a joined chunk: its row 0 below
  std::vector<std::uint32_t> samples_;           // per row of the primary: nominal length, 0 = left out
  std::vector<std::vector<Location>> partners_;  // per secondary, per row of the primary
  std::vector<Readings> readings_;               // per secondary
  std::deque<ChunkCache> caches_;
  std::vector<Notice> notices_;
};

}  // namespace

std::unique_ptr<Source> join(std::vector<std::unique_ptr<Source>> sources, const Options& options) {
  return std::make_unique<Joined>(std::move(sources), options);
}

}  // namespace batchfeed::join
