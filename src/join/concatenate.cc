// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "join/join.h"
#include "model/several.h"

namespace batchfeed::join {
namespace {

class Concatenated final : public Source, private RowReader {
 public:
  Concatenated(std::vector<std::shared_ptr<const Source>> shards, Keys keys) : shards_(std::move(shards)), keys_(keys) {
    std::vector<SequenceInfo> table;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
      first_key_.push_back(s == 0 || keys != Keys::numbered ? 0 : first_key_.back() + keys_of(*shards_[s - 1], table));
      for (std::uint32_t c = 0; c < shards_[s]->chunks().size(); ++c) {
        chunks_.push_back(shards_[s]->chunks()[c]);
        at_.push_back({s, c});
      }
    }
  }

  const std::vector<StreamInfo>& streams() const override { return shards_[0]->streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    shard(chunk).sequences(at_[chunk].chunk, out);
    number(chunk, out);
  }
  void read(std::uint32_t chunk, Chunk& out) const override { shard(chunk).read(at_[chunk].chunk, out); }
  const RowReader* row_reader(std::uint32_t chunk) const override { return rows_of(chunk) == nullptr ? nullptr : this; }
  std::string key_text(std::uint64_t key) const override {
    if (keys_ == Keys::shared) return shards_[0]->key_text(key);
    if (keys_ == Keys::own) {
      std::string text = shards_[0]->key_text(key);
      const bool agreed =
          std::all_of(shards_.begin() + 1, shards_.end(), [&](const auto& s) { return s->key_text(key) == text; });
      return agreed ? text : Source::key_text(key);
    }
    const auto behind = std::upper_bound(first_key_.begin(), first_key_.end(), key);
    const auto s = static_cast<std::size_t>(behind - first_key_.begin()) - 1;
    return shards_[s]->key_text(key - first_key_[s]);
  }
  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    return shard(chunk).place(at_[chunk].chunk, row);
  }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    return shard(chunk).places(at_[chunk].chunk, row);
  }
  std::vector<std::string> files() const override { return files_of(shards_); }
  bool splits_frames() const override { return shards_[0]->splits_frames(); }
  std::vector<Notice> notices() const override { return notices_of(shards_); }
  std::uint64_t fingerprint() const override { return fingerprint_of(shards_); }

 private:
  // One more than the largest key of a shard.
  static std::uint64_t keys_of(const Source& shard, std::vector<SequenceInfo>& table) {
    std::uint64_t keys = 0;
    for (std::uint32_t c = 0; c < shard.chunks().size(); ++c) {
      shard.sequences(c, table);
      for (const SequenceInfo& sequence : table) keys = std::max(keys, sequence.key + 1);
    }
    return keys;
  }

  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    rows_of(chunk)->sequences(at_[chunk].chunk, rows, out);
    number(chunk, out);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    rows_of(chunk)->read(at_[chunk].chunk, rows, out);
  }
  bool may_be_narrow(std::uint32_t chunk, std::size_t stream) const override {
    return rows_of(chunk)->may_be_narrow(at_[chunk].chunk, stream);
  }
  RowMemory row_memory(std::uint32_t chunk) const override { return rows_of(chunk)->row_memory(at_[chunk].chunk); }
  const RowReader* rows_of(std::uint32_t chunk) const { return shard(chunk).row_reader(at_[chunk].chunk); }
  void number(std::uint32_t chunk, std::vector<SequenceInfo>& table) const {
    const std::uint64_t first = first_key_[at_[chunk].shard];
    for (SequenceInfo& sequence : table) sequence.key += first;
  }

  struct At {
    std::uint32_t shard, chunk;
  };
  const Source& shard(std::uint32_t chunk) const { return *shards_[at_[chunk].shard]; }

  std::vector<std::shared_ptr<const Source>> shards_;
  Keys keys_;
  std::vector<ChunkInfo> chunks_;
  std::vector<At> at_;
  std::vector<std::uint64_t> first_key_;  // added to the keys of each shard
};

std::string described(const StreamInfo& s) {
  return "'" + s.name + "' (" + std::string(name(s.storage)) + " " + std::to_string(s.dim) +
         (s.element == Element::f64 ? ", double)" : ")");
}

// Describes the first stream that differs; empty if only defines_mb_size or broadcast do.
std::string difference(const std::vector<StreamInfo>& there, const std::vector<StreamInfo>& first) {
  for (std::size_t i = 0; i < std::max(there.size(), first.size()); ++i) {
    const std::string a = i < there.size() ? described(there[i]) : "none",
                      b = i < first.size() ? described(first[i]) : "none";
    if (a != b) return ": " + a + ", not " + b;
  }
  return {};
}

void check_streams(const std::vector<std::shared_ptr<const Source>>& shards, const std::string& piece,
                   const std::string& whole) {
  for (std::size_t s = 1; s < shards.size(); ++s) {
    if (shards[s]->streams() == shards[0]->streams()) continue;
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "join.shards-differ",
                      .what = piece + ' ' + std::to_string(s + 1) + " of " + whole +
                              " has other streams than the first" +
                              difference(shards[s]->streams(), shards[0]->streams()),
                      .hint = "they must agree in names, dims, storage and element type"});
  }
}

}  // namespace

std::unique_ptr<Source> concatenate(std::vector<std::unique_ptr<Source>> shards, Keys keys) {
  if (shards.size() == 1) return std::move(shards[0]);
  std::vector<std::shared_ptr<const Source>> shared(std::make_move_iterator(shards.begin()),
                                                    std::make_move_iterator(shards.end()));
  check_streams(shared, "shard", "the corpus");
  return std::make_unique<Concatenated>(std::move(shared), keys);
}

std::shared_ptr<const Source> concatenate(std::vector<std::shared_ptr<const Source>> corpora) {
  if (corpora.size() == 1) return std::move(corpora[0]);
  check_streams(corpora, "corpus", "the mixture");
  return std::make_shared<Concatenated>(std::move(corpora), Keys::own);
}

}  // namespace batchfeed::join
