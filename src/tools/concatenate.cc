// SPDX-License-Identifier: MIT
#include <batchfeed/split.h>
#include <batchfeed/subset.h>

#include <algorithm>

#include "model/several.h"
#include "tools/refuse.h"
#include "tools/selected.h"

namespace batchfeed {

namespace {

class Sequel final : public Source {
 public:
  explicit Sequel(std::vector<std::shared_ptr<const Source>> corpora) : corpora_(std::move(corpora)) {
    streams_ = corpora_.front()->streams();
    std::vector<std::string> names;
    for (const StreamInfo& s : streams_) names.push_back(s.name);
    for (std::size_t k = 0; k < corpora_.size(); ++k) {
      expect_streams(k);
      selected_.push_back(
          std::make_unique<Selected>(corpora_[k], names, std::vector<std::pair<std::string, std::string>>()));
    }
    std::vector<SequenceInfo> table;
    for (std::uint32_t k = 0; k < corpora_.size(); ++k) {
      first_of_.push_back(keys_.size());
      for (std::uint32_t c = 0; c < corpora_[k]->chunks().size(); ++c) {
        chunks_.push_back(corpora_[k]->chunks()[c]);
        at_.push_back({k, c, keys_.size()});
        corpora_[k]->sequences(c, table);
        for (const SequenceInfo& s : table) keys_.push_back(s.key);
      }
    }
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    const At& at = at_[chunk];
    corpora_[at.corpus]->sequences(at.chunk, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i].key = at.first_key + i;
  }
  void read(std::uint32_t chunk, Chunk& out) const override {
    selected_[at_[chunk].corpus]->read(at_[chunk].chunk, out);
    for (std::size_t i = 0; i < streams_.size(); ++i) out.columns[i].dim = streams_[i].dim;
  }
  std::string key_text(std::uint64_t key) const override {
    if (key >= keys_.size()) return Source::key_text(key);
    const auto behind = std::upper_bound(first_of_.begin(), first_of_.end(), key);
    return corpora_[static_cast<std::size_t>(behind - first_of_.begin()) - 1]->key_text(
        keys_[static_cast<std::size_t>(key)]);
  }
  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    return corpora_[at_[chunk].corpus]->place(at_[chunk].chunk, row);
  }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    return corpora_[at_[chunk].corpus]->places(at_[chunk].chunk, row);
  }
  std::vector<std::string> files() const override { return files_of(corpora_); }
  bool splits_frames() const override { return corpora_.front()->splits_frames(); }
  std::uint64_t fingerprint() const override { return fingerprint_of(selected_); }
  std::vector<Notice> notices() const override { return notices_of(corpora_); }

 private:
  struct At {
    std::uint32_t corpus, chunk;
    std::uint64_t first_key;
  };

  void expect_streams(std::size_t k) {
    const std::string whose = "corpus " + std::to_string(k + 1);
    const std::vector<StreamInfo>& others = corpora_[k]->streams();
    for (StreamInfo& mine : streams_) {
      const auto other =
          std::find_if(others.begin(), others.end(), [&](const StreamInfo& s) { return s.name == mine.name; });
      const auto fail = [&](const std::string& what, const char* hint) {
        refuse("merge.streams", {}, whose + ": stream '" + mine.name + "' " + what, hint, mine.name);
      };
      if (other == others.end()) fail("is not there, but in the first", "choose streams that all corpora have");
      if (other->storage != mine.storage) fail("is not stored as in the first, sparse or dense", "convert one of them");
      if (other->element != mine.element) fail("has another precision than in the first", "ask for one precision");
      if (mine.storage == Storage::dense && other->dim != mine.dim)
        fail("has dim " + std::to_string(other->dim) + ", the first " + std::to_string(mine.dim),
             "choose other streams");
      mine.dim = std::max(mine.dim, other->dim);
    }
    for (const StreamInfo& other : others) {
      if (std::any_of(streams_.begin(), streams_.end(), [&](const StreamInfo& s) { return s.name == other.name; }))
        continue;
      refuse("merge.streams", {}, whose + ": stream '" + other.name + "' is not in the first",
             "choose streams that all corpora have", other.name);
    }
  }

  std::vector<std::shared_ptr<const Source>> corpora_;
  std::vector<std::unique_ptr<Selected>> selected_;  // the corpora with their streams in the order of the first
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
  std::vector<At> at_;
  std::vector<std::uint64_t> keys_;      // the corpora's own keys, by the sequence's number, which is its key here
  std::vector<std::uint64_t> first_of_;  // number of each corpus' first sequence
};

}  // namespace

std::unique_ptr<Source> concatenate(std::vector<std::shared_ptr<const Source>> corpora) {
  if (corpora.empty()) refuse("merge.streams", {}, "no corpus is given", "name at least one");
  for (const auto& corpus : corpora) expect_source(corpus.get());
  return std::make_unique<Sequel>(std::move(corpora));
}

std::unique_ptr<Source> merge(std::vector<std::shared_ptr<const Source>> corpora, ConvertOptions& options) {
  using Keys = ConvertOptions::Keys;
  bool own = false, lines = options.to == Format::ctf;
  for (std::shared_ptr<const Source>& corpus : corpora) {
    expect_source(corpus.get());
    if (options.keys == Keys::automatic) {
      own = own || has_own_keys(*corpus);
      lines = lines && !own && one_sample_each(*corpus);
    }
    if (options.streams.empty()) continue;
    options.part = options.part || options.streams.size() < corpus->streams().size();
    corpus = select_streams(std::move(corpus), options.streams);
  }
  std::unique_ptr<Source> all = concatenate(std::move(corpora));
  if (options.keys == Keys::number || options.keys == Keys::none) return all;
  const bool repeat = keys_repeat(*all);
  if (repeat && options.keys == Keys::keep)
    refuse("merge.same-keys", {}, "some keys occur more than once", "`keys = number`");
  if (repeat && own && options.report) {
    options.report({.fault = {.kind = FaultKind::usage,
                              .id = "merge.numbered",
                              .what = "some keys occur more than once, sequences are numbered",
                              .hint = "`keys = number` says so"}});
  }
  options.keys = !repeat && (own || options.keys == Keys::keep) ? Keys::keep : lines ? Keys::none : Keys::number;
  return all;
}

bool keys_repeat(const Source& source) {
  std::vector<std::uint64_t> hashes;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    for (const SequenceInfo& s : table) hashes.push_back(hash_text(source.key_text(s.key)));
  }
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end();
}

}  // namespace batchfeed
