// SPDX-License-Identifier: MIT
#include "join/join.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <set>

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

class Joined final : public Source {
 public:
  Joined(std::vector<std::unique_ptr<Source>> sources, const Options& options)
      : sources_(std::move(sources)), options_(options) {
    collect_streams();
    for (std::size_t k = 1; k < sources_.size(); ++k) caches_.emplace_back(*sources_[k], options.cache_bytes);
    match();
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    primary().sequences(primary_chunk_[chunk], out);
    const std::uint64_t first = first_[chunk];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (samples_[first + i] == 0) continue;
      out[kept] = out[i];
      out[kept++].samples = samples_[first + i];
    }
    out.resize(kept);
  }

  void read(std::uint32_t chunk, Chunk& out) const override {
    primary().read(primary_chunk_[chunk], out);
    std::vector<SequenceInfo> table;
    primary().sequences(primary_chunk_[chunk], table);
    const std::size_t rows = out.columns.empty() ? 0 : out.columns[0].first_sample.size() - 1;
    const std::size_t own = primary().streams().size();
    out.columns.resize(streams_.size());
    std::vector<std::uint32_t> lengths(rows, 0);
    for (const SequenceInfo& s : table) lengths[s.row] = s.samples;
    std::vector<Location> where(rows);
    std::size_t column = own;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      std::fill(where.begin(), where.end(), Location{});
      for (std::size_t i = 0; i < table.size(); ++i) {
        if (samples_[first_[chunk] + i] != 0) where[table[i].row] = partners_[k - 1][first_[chunk] + i];
      }
      fetch(*sources_[k], caches_[k - 1], where, lengths, column, out);
      column += sources_[k]->streams().size();
    }
  }

  std::string key_text(std::uint64_t key) const override { return primary().key_text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    return primary().place(primary_chunk_[chunk], row);
  }
  bool splits_frames() const override { return primary().splits_frames(); }
  std::vector<Notice> notices() const override { return notices_; }

  std::uint64_t fingerprint() const override {
    Fingerprint print;
    for (const auto& source : sources_) print.add(source->fingerprint());
    return print.value();
  }

 private:
  const Source& primary() const { return *sources_[0]; }

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

  // The nominal length of a joined sequence (minibatch.md 2.2), or 0: dropped.
  std::uint32_t nominal(const SequenceInfo& own, std::vector<Location>& partners, std::vector<std::uint64_t>& too_short,
                        std::uint64_t& first_short) const {
    std::uint32_t samples = own.samples;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      const Location& at = partners[k - 1];
      if (broadcasts(k)) continue;
      if (options_.exact) {
        if (at.samples == own.samples) continue;
        if (too_short[k - 1]++ == 0) first_short = own.key;
        return 0;
      }
      if (options_.frames) {
        if (at.samples >= own.samples) continue;
        if (sources_[k]->splits_frames()) {
          throw Error(Fault{
              .kind = FaultKind::format,
              .id = "join.too-few-frames",
              .what = "sequence '" + primary().key_text(own.key) + "' has " + std::to_string(own.samples) +
                      " frames in " + names_of(primary()) + ", but only " + std::to_string(at.samples) + " in " +
                      names_of(*sources_[k]),
              .hint =
                  "in frame mode every source needs all frames; use expandToUtterance for one vector an utterance"});
        }
        if (too_short[k - 1]++ == 0) first_short = own.key;
        return 0;
      }
      samples = std::max(samples, at.samples);
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
    std::vector<std::uint64_t> missing(indices.size()), too_short(indices.size());
    std::vector<std::vector<std::uint64_t>> first_missing(indices.size());
    std::uint64_t first_short = 0, total = 0;
    std::vector<SequenceInfo> table;
    std::vector<Location> partners(indices.size());
    for (std::uint32_t c = 0; c < primary().chunks().size(); ++c) {
      primary().sequences(c, table);
      const std::uint64_t first = samples_.size();
      ChunkInfo info{.sequences = 0, .samples = 0, .bytes = primary().chunks()[c].bytes};
      for (const SequenceInfo& own : table) {
        ++total;
        bool found = true;
        for (std::size_t k = 0; k < indices.size() && found; ++k) {
          const Location* at = indices[k].find(own.key);
          found = at != nullptr;
          if (found) {
            partners[k] = *at;
          } else if (++missing[k] <= 3) {
            first_missing[k].push_back(own.key);
          }
        }
        const std::uint32_t samples = found ? nominal(own, partners, too_short, first_short) : 0;
        samples_.push_back(samples);
        for (std::size_t k = 0; k < indices.size(); ++k)
          partners_[k].push_back(samples != 0 ? partners[k] : Location{});
        if (samples != 0) {
          ++info.sequences;
          info.samples += samples;
        }
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
    for (std::size_t k = 0; k < indices.size(); ++k) {
      note_missing(k + 1, total, missing[k], first_missing[k]);
      note_secondary(k + 1, indices[k]);
      if (too_short[k] != 0 && options_.exact) {
        note("other-length",
             count(too_short[k]) + " sequences of " + names_of(primary()) + " have another length in " +
                 names_of(*sources_[k + 1]) + " and were left out, first: " + primary().key_text(first_short),
             "batchfeed check lists damaged labels");
      } else if (too_short[k] != 0) {
        note("shorter",
             count(too_short[k]) + " sequences have fewer labels in " + names_of(*sources_[k + 1]) +
                 " than frames in " + names_of(primary()) +
                 " and were left out, first: " + primary().key_text(first_short),
             "repair the labels; batchfeed check lists them");
      }
    }
    const std::uint64_t gone = std::accumulate(missing.begin(), missing.end(),
                                               std::accumulate(too_short.begin(), too_short.end(), std::uint64_t{0}));
    if (options_.exact && gone > total / 2) {
      throw Error(config_fault(
          "most-left-out",
          count(gone) + " of " + count(total) + " sequences of " + names_of(primary()) +
              " have no partner of the same length: " + (notices_.empty() ? "" : notices_.front().fault.what),
          "check that features and labels belong together"));
    }
    if (chunks_.empty()) {
      throw Error(config_fault("no-common-keys",
                               "the keys of the sources do not match: no sequence of " + names_of(primary()) +
                                   " has a partner in every other source",
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

  void note_missing(std::size_t k, std::uint64_t total, std::uint64_t missing,
                    const std::vector<std::uint64_t>& first) {
    if (missing == 0) return;
    note("no-partner",
         count(missing) + " of " + count(total) + " sequences of " + names_of(primary()) + " have no partner in " +
             names_of(*sources_[k]) + " and were left out, first: " + list(primary(), first),
         "");
  }

  void note_secondary(std::size_t k, const KeyIndex& index) {
    std::vector<std::uint64_t> keys;
    const std::uint64_t unused = index.unused(3, keys);
    if (unused != 0) {
      note("no-partner",
           count(unused) + " of " + count(index.sequences()) + " sequences of " + names_of(*sources_[k]) +
               " have no partner in " + names_of(primary()) + ", first: " + list(*sources_[k], keys),
           "");
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
  std::vector<std::uint64_t> first_;             // of a joined chunk: its first sequence below
  std::vector<std::uint32_t> samples_;           // per primary sequence: nominal length, 0 = left out
  std::vector<std::vector<Location>> partners_;  // per secondary, per primary sequence
  std::deque<ChunkCache> caches_;
  std::vector<Notice> notices_;
};

}  // namespace

std::unique_ptr<Source> join(std::vector<std::unique_ptr<Source>> sources, const Options& options) {
  return std::make_unique<Joined>(std::move(sources), options);
}

}  // namespace batchfeed::join
