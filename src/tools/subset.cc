// SPDX-License-Identifier: MIT
#include <batchfeed/subset.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/hash.h"
#include "base/rng.h"
#include "model/read_chunk.h"
#include "model/shared_source.h"
#include "model/total.h"
#include "tools/refuse.h"
#include "tools/selected.h"

namespace batchfeed {

namespace {

// Whether there are several shards of which each counts its sequences from 0, as where text has no ids. Of some of the
// sequences those of two shards could not be told apart, and in text be taken for one.
bool counts_each_shard(const Source& source) {
  if (source.files().size() < 2) return false;
  std::uint64_t number = 0;
  bool again = false;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    if (table.empty()) continue;
    if (table.front().key == 0 && number != 0) {
      again = true;
      number = 0;
    }
    if (source.key_text(table.front().key) != std::to_string(number)) return false;
    for (const SequenceInfo& s : table) {
      if (s.key != number++) return false;
    }
  }
  return again && !has_own_keys(source);  // a look at every key's text
}

class Subset final : public SharedSource {
 public:
  Subset(std::shared_ptr<const Source> from, Rows rows)
      : SharedSource(std::move(from)), numbered_(counts_each_shard(source())) {
    std::vector<SequenceInfo> table;
    std::uint64_t first = 0;
    for (std::uint32_t c = 0; c < rows.size(); ++c) {
      const ChunkInfo& whole = source().chunks()[c];
      const std::uint64_t first_of_chunk = first;
      first += whole.sequences;
      if (rows[c].empty()) continue;
      source().sequences(c, table);
      ChunkInfo& part = chunks_.emplace_back();
      part.sequences = rows[c].size();
      for (const std::uint32_t i : rows[c]) part.samples += table.at(i).samples;
      part.bytes = whole.bytes;  // the whole chunk is read
      of_.push_back(c);
      first_.push_back(first_of_chunk);
      rows_.push_back(std::move(rows[c]));
    }
  }

  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    source().sequences(of_[chunk], out);
    const std::vector<std::uint32_t>& rows = rows_[chunk];  // ascending, so rows[i] >= i, and moving in place is safe
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = out[rows[i]];
    out.resize(rows.size());
    for (std::size_t i = 0; i < rows.size() && numbered_; ++i) out[i].key = first_[chunk] + rows[i];
  }
  std::string key_text(std::uint64_t key) const override {
    return numbered_ ? std::to_string(key) : source().key_text(key);
  }
  void read(std::uint32_t chunk, Chunk& out) const override { source().read(of_[chunk], out); }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return nullptr; }
  Place place(std::uint32_t chunk, std::uint32_t row) const override { return source().place(of_[chunk], row); }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    return source().places(of_[chunk], row);
  }
  std::uint64_t fingerprint() const override {
    Fingerprint print;
    print.add(source().fingerprint());
    for (std::size_t c = 0; c < rows_.size(); ++c)
      print.add(of_[c]).add(hash_bytes(rows_[c].data(), rows_[c].size() * sizeof(std::uint32_t)));
    return print.value();
  }

 private:
  std::vector<ChunkInfo> chunks_;
  std::vector<std::uint32_t> of_;     // the source's chunk
  std::vector<std::uint64_t> first_;  // the number of that chunk's first sequence
  Rows rows_;
  bool numbered_;  // keys are the numbers of the sequences in the source
};

// The sequences for which take(number) is true, called in order with each sequence's number in the source. Ends before
// the first chunk for which done() is true.
template <class Take, class Done>
Rows rows_where(const Source& source, const Take& take, const Done& done) {
  Rows out;
  std::uint64_t number = 0;
  for (std::uint32_t c = 0; c < source.chunks().size() && !done(); ++c) {
    std::vector<std::uint32_t>& rows = out.emplace_back();
    const std::uint64_t n = source.chunks()[c].sequences;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (take(number++)) rows.push_back(i);
    }
  }
  return out;
}

}  // namespace

std::uint64_t count(const Rows& rows) noexcept {
  std::uint64_t n = 0;
  for (const auto& chunk : rows) n += chunk.size();
  return n;
}

Rows rows_from(const Source& source, std::uint64_t first, std::uint64_t most) {
  std::uint64_t taken = 0;
  return rows_where(
      source, [&](std::uint64_t number) { return number >= first && taken < most && ++taken != 0; },
      [&] { return taken == most; });
}

// Selection sampling: each sequence is taken with probability wanted / left, which makes all subsets of the size
// equally likely.
Rows sample_rows(const Source& source, std::uint64_t most, std::uint64_t seed) {
  std::uint64_t left = total(source.chunks()).sequences;
  std::uint64_t wanted = std::min(most, left);
  CounterRng rng(seed);
  return rows_where(
      source,
      [&](std::uint64_t) {
        const bool take = rng.below(left--) < wanted;
        wanted -= take ? 1 : 0;
        return take;
      },
      [&] { return wanted == 0; });
}

std::uint64_t sample_count(const Source& source, double fraction) {
  if (!(fraction > 0 && fraction <= 1))
    refuse("sample.fraction", {}, "a fraction is above 0 and up to 1", "such as 0.01");
  return static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(total(source.chunks()).sequences)));
}

std::unique_ptr<Source> subset(std::shared_ptr<const Source> source, Rows rows) {
  expect_source(source.get());
  bool fits = rows.size() <= source->chunks().size();
  for (std::size_t c = 0; fits && c < rows.size(); ++c) {
    fits = std::ranges::adjacent_find(rows[c], std::greater_equal()) == rows[c].end() &&
           (rows[c].empty() || rows[c].back() < source->chunks()[c].sequences);
  }
  if (!fits)
    refuse("subset.rows", {}, "the rows are not places of sequences in their chunks, in ascending order",
           "rows_from() and sample_rows() give such");
  return std::make_unique<Subset>(std::move(source), std::move(rows));
}

std::unique_ptr<Source> select_streams(std::shared_ptr<const Source> source, const std::vector<std::string>& keep,
                                       const std::vector<std::pair<std::string, std::string>>& renames) {
  expect_source(source.get());
  return std::make_unique<Selected>(std::move(source), keep, renames);
}

namespace {

// Whether the source knows the lines of its sequences, as text does: then a sequence's samples are those of its longest
// stream.
bool stands_in_lines(const Source& source) {
  if (source.chunks().empty()) return true;
  std::vector<SequenceInfo> table;
  source.sequences(0, table);
  const std::vector<Place> places = source.places(0, table.empty() ? 0 : table.front().row);
  return std::all_of(places.begin(), places.end(), [](const Place& place) { return place.first_line != 0; });
}

}  // namespace

bool one_sample_each(const Source& source) {
  const std::vector<StreamInfo>& streams = source.streams();
  if (std::any_of(source.chunks().begin(), source.chunks().end(),
                  [](const ChunkInfo& chunk) { return chunk.samples != chunk.sequences; }))
    return false;
  if (std::any_of(streams.begin(), streams.end(), [](const StreamInfo& s) { return s.defines_mb_size; }))
    return streams.size() == 1;
  if (stands_in_lines(source)) return true;
  Chunk chunk;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    read_chunk(source, c, chunk);
    for (const SequenceInfo& s : table) {
      if (std::any_of(chunk.columns.begin(), chunk.columns.end(),
                      [&](const Column& column) { return column.samples(s.row) > 1; }))
        return false;
    }
  }
  return true;
}

bool has_own_keys(const Source& source) {
  std::uint64_t number = 0;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    if (!table.empty() && table.front().key == 0) number = 0;  // another shard
    for (const SequenceInfo& s : table) {
      if (s.key != number || source.key_text(s.key) != std::to_string(number)) return true;
      ++number;
    }
  }
  return false;
}

}  // namespace batchfeed
