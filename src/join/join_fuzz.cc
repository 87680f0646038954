// SPDX-License-Identifier: MIT
//
// Two or three small sources and options of a join out of the bytes, against a join that is written down as the
// rules are: row by row from what was put in, without chunks, caches or copies.
#include <batchfeed/source.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "join/join.h"
#include "model/pieces.h"
#include "support/draw.h"
#include "support/each_sequence.h"
#include "support/fuzz_file.h"

namespace {

using namespace batchfeed;
using batchfeed::testing::Draw;
using batchfeed::testing::require;

struct Row {
  std::uint64_t key = 0;
  std::vector<std::uint32_t> lengths;  // of each stream
  std::uint32_t samples = 0;
  std::uint8_t invalid = Chunk::kValid;
};

struct Corpus {
  std::vector<StreamInfo> streams;
  std::vector<bool> windows;  // dense streams whose samples overlap
  std::vector<std::vector<Row>> chunks;
  bool backwards = false;  // tables, against the rows
  bool by_rows = false;
  bool frames = false;
  bool far_more = false;
  std::uint64_t bytes = 0;  // of each chunk
};

constexpr std::uint32_t kDim = 2;

// Value number n of a dense row, and n of a sparse one: numbers that tell rows and streams apart.
float value(const StreamInfo& stream, std::uint64_t key, std::uint64_t n) {
  const auto source = static_cast<std::uint64_t>(stream.name[0] - 'a'),
             number = static_cast<std::uint64_t>(stream.name[1] - '0');
  return static_cast<float>(10000 * source + 1000 * number + 50 * key + n);
}
std::uint32_t count(std::uint64_t key, std::uint32_t sample) { return static_cast<std::uint32_t>(key + sample) % 3; }

// One sample as text, as it was put in.
std::string sample_of(const Corpus& corpus, std::size_t s, std::uint64_t key, std::uint32_t i) {
  const StreamInfo& stream = corpus.streams[s];
  std::string out;
  if (stream.storage == Storage::dense) {
    for (std::uint32_t d = 0; d < kDim; ++d)
      out += ' ' + std::to_string(value(stream, key, i * (corpus.windows[s] ? 1u : kDim) + d));
  } else {
    for (std::uint32_t n = 0; n < count(key, i); ++n)
      out += ' ' + std::to_string(n % kDim) + ':' + std::to_string(value(stream, key, 3 * i + n));
  }
  return out + ';';
}

// The same out of a column.
std::string sample_of(const Column& column, std::uint32_t row, std::uint32_t i) {
  std::string out;
  if (column.storage == Storage::dense) {
    for (std::uint32_t d = 0; d < column.dim; ++d)
      out += ' ' + std::to_string(column.as<float>()[column.begin[row] + i * column.step + d]);
  } else {
    const std::uint32_t at = column.first_sample[row] + i;
    for (std::uint32_t n = column.first_value[at]; n < column.first_value[at + 1]; ++n)
      out += ' ' + std::to_string(column.indices[n]) + ':' + std::to_string(column.as<float>()[n]);
  }
  return out + ';';
}

class Given final : public Source, private RowReader {
 public:
  explicit Given(const Corpus& corpus) : corpus_(corpus) {
    for (const auto& rows : corpus.chunks) {
      ChunkInfo& info = chunks_.emplace_back(ChunkInfo{.sequences = rows.size(), .bytes = corpus.bytes});
      for (const Row& row : rows) info.samples += row.samples;
    }
  }
  const std::vector<StreamInfo>& streams() const override { return corpus_.streams; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    sequences(chunk, all(chunk), out);
    if (corpus_.backwards) std::reverse(out.begin(), out.end());
  }
  void read(std::uint32_t chunk, Chunk& out) const override { read(chunk, all(chunk), out); }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return corpus_.by_rows ? this : nullptr; }
  bool splits_frames() const override { return corpus_.frames; }

 private:
  RowRange all(std::uint32_t chunk) const { return {0, static_cast<std::uint32_t>(corpus_.chunks[chunk].size())}; }
  RowMemory row_memory(std::uint32_t /*chunk*/) const override {
    return corpus_.far_more ? RowMemory::far_more : RowMemory::unknown;
  }
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (std::uint32_t r = rows.first; r < rows.last; ++r)
      out.push_back({corpus_.chunks[chunk][r].key, r - rows.first, corpus_.chunks[chunk][r].samples});
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    out.reset(corpus_.streams);
    for (std::uint32_t r = rows.first; r < rows.last; ++r) {
      const Row& row = corpus_.chunks[chunk][r];
      for (std::size_t s = 0; s < corpus_.streams.size(); ++s) put(row, s, out.columns[s]);
      if (row.invalid == Chunk::kValid) continue;
      out.invalid.resize(rows.last - rows.first, Chunk::kValid);
      out.invalid[r - rows.first] = row.invalid;
    }
  }
  void put(const Row& row, std::size_t s, Column& column) const {
    const StreamInfo& stream = corpus_.streams[s];
    const std::uint32_t n = row.lengths[s];
    const auto add = [&](float v) { column.values.append(reinterpret_cast<const std::byte*>(&v), sizeof v); };
    column.first_sample.push_back(column.first_sample.back() + n);
    if (stream.storage == Storage::dense) {
      column.step = corpus_.windows[s] ? 1 : kDim;
      column.begin.push_back(column.values.size() / sizeof(float));
      const std::uint64_t stored = n == 0 ? 0 : (n - 1) * column.step + kDim;
      for (std::uint64_t v = 0; v < stored; ++v) add(value(stream, row.key, v));
      return;
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t v = 0; v < count(row.key, i); ++v) {
        column.indices.push_back(static_cast<std::int32_t>(v % kDim));
        add(value(stream, row.key, 3 * i + v));
      }
      column.first_value.push_back(static_cast<std::uint32_t>(column.indices.size()));
    }
  }

  Corpus corpus_;
  std::vector<ChunkInfo> chunks_;
};

Corpus corpus(Draw& draw, char name, bool primary, bool strict) {
  Corpus out;
  for (std::uint32_t n = 1 + draw.below(2); n > 0; --n) {
    StreamInfo& stream = out.streams.emplace_back();
    stream.name = {name, static_cast<char>('0' + out.streams.size())};
    stream.dim = kDim;
    if (draw.one_of(2)) stream.storage = Storage::sparse;
    stream.broadcast = !primary && draw.one_of(4);
    // A single window is repeated by its last frame, which all of it is; here it would not be.
    out.windows.push_back(stream.storage == Storage::dense && !stream.broadcast && !strict && draw.one_of(2));
  }
  out.chunks.resize(1 + draw.below(3));
  for (auto& rows : out.chunks) {
    for (std::uint32_t n = 1 + draw.below(5); n > 0; --n) {
      Row& row = rows.emplace_back();
      row.key = draw.below(10);
      for (const StreamInfo& stream : out.streams) row.lengths.push_back(stream.broadcast ? 1 : draw.below(5));
      row.samples = std::max(1u, *std::max_element(row.lengths.begin(), row.lengths.end()));
      if (draw.one_of(8)) row.invalid = static_cast<std::uint8_t>(1 + draw.below(2));
    }
  }
  out.by_rows = draw.one_of(2);
  out.backwards = !out.by_rows && draw.one_of(2);
  out.frames = draw.one_of(2);
  out.far_more = draw.one_of(3);
  out.bytes = draw.one_of(2) ? 8u << 20 : 10;
  return out;
}

// What a joined sequence is to be, or the fault of the join.
struct Expected {
  std::vector<std::string> sequences;
  std::string fault;
};

// Of a repeated key the first counts, as the table has them; of an utterance of HTKMLFReader that comes back, the one
// that comes back as often, if there is one.
const Row* partner(const Corpus& corpus, std::uint64_t key, std::size_t turn) {
  std::vector<const Row*> found;
  for (const auto& chunk : corpus.chunks) {
    std::vector<const Row*> rows;
    for (const Row& row : chunk)
      if (row.key == key) rows.push_back(&row);
    if (corpus.backwards) std::reverse(rows.begin(), rows.end());
    found.insert(found.end(), rows.begin(), rows.end());
  }
  if (found.empty()) return nullptr;
  return found[turn < found.size() ? turn : 0];
}

bool broadcasts(const Corpus& corpus) {
  return std::all_of(corpus.streams.begin(), corpus.streams.end(), [](const StreamInfo& s) { return s.broadcast; });
}

// The partners of a sequence, as far as there are: the first source without one decides, and so does the first that
// lacks frames.
std::vector<const Row*> partners(const std::vector<Corpus>& all, const Row& own, std::size_t turn,
                                 const join::Options& options, std::string& fault) {
  std::vector<const Row*> rows = {&own};
  for (std::size_t k = 1; k < all.size(); ++k) {
    const Row* const row = partner(all[k], own.key, options.exact || options.strict ? turn : 0);
    if (row == nullptr) {
      if (options.strict) fault = "join.no-partner";
      return rows;
    }
    rows.push_back(row);
    const bool all_wanted = options.frames && all[k].frames && !options.exact && !options.strict;
    if (all_wanted && !broadcasts(all[k]) && row->samples < own.samples) {
      fault = "join.too-few-frames";
      return rows;
    }
  }
  return rows;
}

// The length of a joined sequence, 0 if it is left out, for source `culprit`.
std::uint32_t length_of(const std::vector<Corpus>& all, const std::vector<const Row*>& rows,
                        std::optional<std::size_t> sizing, const join::Options& options, std::string& fault,
                        std::size_t& culprit) {
  const std::uint32_t own = rows[0]->samples;
  std::uint32_t longest = own;
  for (std::size_t k = 1; k < all.size(); ++k) {
    const std::uint32_t other = rows[k]->samples;
    if (broadcasts(all[k])) continue;
    culprit = k;
    if (options.strict && other != own && other != 1) {
      fault = "join.other-length";
      return 0;
    }
    if (options.strict) continue;
    if (options.exact && other != own) return 0;
    longest = std::max(longest, other);
  }
  if (options.frames) return own;
  return sizing ? rows[*sizing]->samples : longest;
}

std::string sequence_text(const std::vector<Corpus>& all, const std::vector<const Row*>& rows, std::uint32_t length,
                          const join::Options& options) {
  std::string out = std::to_string(rows[0]->key) + " of " + std::to_string(length) + ':';
  std::uint8_t invalid = Chunk::kValid;
  bool shorter = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    invalid = std::max(invalid, rows[k]->invalid);
    for (std::size_t s = 0; s < all[k].streams.size(); ++s) {
      std::uint32_t n = rows[k]->lengths[s];
      bool repeat = false;
      if (k > 0) {
        if (options.frames) n = std::min(n, rows[0]->samples);
        repeat = n == 1 && (options.strict || all[k].streams[s].broadcast);
        if (repeat) n = rows[0]->samples;
      }
      shorter = shorter || n < length;
      out += " |";
      for (std::uint32_t i = 0; i < n; ++i) out += sample_of(all[k], s, rows[k]->key, repeat ? 0 : i);
    }
  }
  if (options.frames && shorter && invalid == Chunk::kValid) invalid = Chunk::kUnpaid;
  return out + " invalid " + std::to_string(invalid);
}

Expected expected_of(const std::vector<Corpus>& all, std::optional<std::size_t> sizing, const join::Options& options) {
  Expected out;
  std::size_t total = 0, lost_features = options.too_long, lost_labels = 0;
  std::map<std::uint64_t, std::size_t> turns;
  for (const auto& chunk : all[0].chunks) {
    std::vector<Row> table = chunk;
    if (all[0].backwards) std::reverse(table.begin(), table.end());
    for (const Row& own : table) {
      ++total;
      const std::vector<const Row*> rows = partners(all, own, turns[own.key]++, options, out.fault);
      if (!out.fault.empty()) return out;
      std::size_t culprit = rows.size();
      const std::uint32_t length =
          rows.size() < all.size() ? 0 : length_of(all, rows, sizing, options, out.fault, culprit);
      if (!out.fault.empty()) return out;
      if (length != 0)
        out.sequences.push_back(sequence_text(all, rows, length, options));
      else if (options.exact)
        ++(all[culprit].frames ? lost_features : lost_labels);
    }
  }
  if (options.exact && std::max(lost_features, lost_labels) > (total + options.too_long) / 2)
    out.fault = "join.most-left-out";
  else if (out.sequences.empty())
    out.fault = "join.no-common-keys";
  return out;
}

std::vector<std::string> all_of(const Source& source) {
  std::vector<std::string> out;
  batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
    std::string text = std::to_string(s.key) + " of " + std::to_string(s.samples) + ':';
    for (const Column& column : chunk.columns) {
      text += " |";
      for (std::uint32_t i = 0; i < column.samples(s.row); ++i) text += sample_of(column, s.row, i);
    }
    out.push_back(text + " invalid " + std::to_string(chunk.invalid.empty() ? 0 : chunk.invalid[s.row]));
  });
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 300) return 0;
  Draw draw(data, size);
  join::Options options;
  options.frames = draw.one_of(3);
  options.exact = draw.one_of(4);
  options.strict = draw.one_of(4);
  options.cache_bytes = draw.one_of(2) ? 1 : 1u << 20;
  std::vector<Corpus> all;
  for (std::uint32_t n = 2 + draw.below(2); n > 0; --n)
    all.push_back(corpus(draw, static_cast<char>('a' + all.size()), all.empty(), options.strict));
  std::optional<std::size_t> sizing;
  if (draw.one_of(3)) sizing = draw.below(static_cast<std::uint32_t>(all.size()));
  if (sizing) all[*sizing].streams[0].defines_mb_size = true;

  options.too_long = draw.one_of(4) ? draw.below(3) : 0;

  const Expected expected = expected_of(all, sizing, options);
  std::vector<std::unique_ptr<Source>> sources;
  for (const Corpus& each : all) sources.push_back(std::make_unique<Given>(each));
  std::shared_ptr<const Source> joined;
  try {
    joined = join::join(std::move(sources), options);
  } catch (const Error& error) {
    require(error.fault().id == expected.fault);
    return 0;
  }
  require(expected.fault.empty());
  require(all_of(*joined) == expected.sequences);
  require(all_of(Pieces(checked(joined), 1)) == expected.sequences);
  return 0;
}
