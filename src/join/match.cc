// SPDX-License-Identifier: MIT
#include "join/match.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/counted.h"

namespace batchfeed::join {
namespace {

constexpr const char* kAllWanted =
    "with action = write every utterance is wanted of every stream, as long or of one frame";

// Whether a sequence of the source stands for any number of samples.
bool broadcasts(const Source& source) {
  return std::all_of(source.streams().begin(), source.streams().end(), [](const StreamInfo& s) { return s.broadcast; });
}

class Matcher {
 public:
  Matcher(const Sources& sources, std::optional<std::size_t> sizing, const Options& options)
      : sources_(sources),
        sizing_(sizing),
        options_(options),
        told_(sources, options.each),
        partners_(sources.size() - 1),
        any_length_(sources.size()) {
    for (std::size_t k = 1; k < sources.size(); ++k) {
      // HTKMLFReader joins lists by line number: an utterance listed twice has two partners, but one set of labels.
      indices_.emplace_back(*sources[k], options.exact || options.strict);
      any_length_[k] = broadcasts(*sources[k]);
    }
    out_.partners.resize(indices_.size());
  }

  Matches run() {
    for (std::uint32_t c = 0; c < primary().chunks().size(); ++c) add_chunk(c);
    for (std::size_t k = 1; k < sources_.size(); ++k) told_.sum_up(k, total_, indices_[k - 1], out_.notices);
    refuse_what_does_not_belong_together();
    return std::move(out_);
  }

 private:
  const Source& primary() const { return *sources_[0]; }

  void add_chunk(std::uint32_t chunk) {
    primary().sequences(chunk, table_);
    const std::uint64_t first = out_.samples.size();
    std::uint64_t rows = 0;
    for (const SequenceInfo& own : table_) rows = std::max(rows, std::uint64_t{own.row} + 1);
    resize(first + rows);
    ChunkInfo info{.sequences = 0, .samples = 0, .bytes = primary().chunks()[chunk].bytes};
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (i + 2 * KeyIndex::kAhead < table_.size()) {
        for (const KeyIndex& index : indices_)
          index.ask_ahead(table_[i + KeyIndex::kAhead].key, table_[i + 2 * KeyIndex::kAhead].key);
      }
      const SequenceInfo& own = table_[i];
      ++total_;
      const std::uint32_t samples = find(own, chunk) ? nominal(own, chunk) : 0;
      if (samples == 0) {
        if (options_.exact) out_.left_out.push_back(total_ - 1);
        continue;
      }
      out_.samples[first + own.row] = samples;
      for (std::size_t k = 0; k < indices_.size(); ++k) out_.partners[k][first + own.row] = partners_[k];
      ++info.sequences;
      info.samples += samples;
    }
    if (info.sequences == 0) return resize(first);
    out_.chunks.push_back(info);
    out_.primary_chunk.push_back(chunk);
    out_.first.push_back(first);
  }

  void resize(std::uint64_t rows) {
    out_.samples.resize(rows, 0);
    for (auto& p : out_.partners) p.resize(rows);
  }

  // Sets partners_; false: one is missing. Sources are asked in their order: frames that one lacks are an error, though
  // a later source may lack the whole sequence (minibatch.md 2.1, htk.md 11.1).
  bool find(const SequenceInfo& own, std::uint32_t chunk) {
    for (std::size_t k = 0; k < indices_.size(); ++k) {
      const Location* const at = indices_[k].find(own.key);
      if (at == nullptr) {
        if (options_.strict)
          throw unlike(own, "no-partner", "has no partner in " + names_of(*sources_[k + 1]), kAllWanted);
        told_.add(Odd::missing, k + 1, own, chunk);
        return false;
      }
      partners_[k] = *at;
      if (options_.frames && !options_.exact && !options_.strict) refuse_too_few_frames(own, k + 1);
    }
    return true;
  }

  // Labels that are too short are no error here: nominal() reports them.
  void refuse_too_few_frames(const SequenceInfo& own, std::size_t k) const {
    if (any_length_[k] || partners_[k - 1].samples >= own.samples || !sources_[k]->splits_frames()) return;
    throw unlike(own, "too-few-frames", "has " + lengths(own, k),
                 "in frame mode every source needs all frames; use `expandToUtterance` for one vector an utterance");
  }

  // The nominal length of a joined sequence (minibatch.md 2.2), or 0: left out.
  std::uint32_t nominal(const SequenceInfo& own, std::uint32_t chunk) {
    std::uint32_t samples = own.samples;
    for (std::size_t k = 1; k < sources_.size(); ++k) {
      const std::uint32_t other = partners_[k - 1].samples;
      if (any_length_[k]) continue;
      if (options_.strict) {
        if (other == own.samples || other == 1) continue;
        throw unlike(own, "other-length", "has " + lengths(own, k), kAllWanted);
      }
      if (options_.exact) {
        if (other == own.samples) continue;
        told_.add(Odd::other, k, own, chunk, other);
        return 0;
      }
      if (options_.frames && other < own.samples) {
        // It keeps its place in the order, but is damaged.
        told_.add(Odd::shorter, k, own, chunk, other);
      } else if (other != own.samples && k < options_.same_length.size() && options_.same_length[k]) {
        told_.add(options_.frames ? Odd::longer : Odd::unequal, k, own, chunk, other);
      }
      if (!options_.frames) samples = std::max(samples, other);
    }
    if (sizing_ && !options_.frames) samples = *sizing_ == 0 ? own.samples : partners_[*sizing_ - 1].samples;
    return samples;
  }

  // `what` of the primary's sequence.
  Error unlike(const SequenceInfo& own, std::string_view id, const std::string& what, std::string hint) const {
    return Error(Fault{.kind = FaultKind::format,
                       .id = "join." + std::string(id),
                       .what = "sequence '" + primary().key_text(own.key) + "' " + what,
                       .hint = std::move(hint)});
  }
  std::string lengths(const SequenceInfo& own, std::size_t k) const {
    return counted(own.samples, "frame") + " in " + names_of(primary()) + ", but " +
           std::to_string(partners_[k - 1].samples) + " in " + names_of(*sources_[k]);
  }

  void refuse_what_does_not_belong_together() const {
    if (options_.exact) refuse_if_most_are_gone();
    if (!out_.chunks.empty()) return;
    throw refused("no-common-keys",
                  "the keys of the sources do not match: no sequence of " + names_of(primary()) +
                      " has a partner in every other source (" + some_keys() + ")",
                  "check that the sources belong together and use the same kind of keys");
  }

  // Utterances that are too long or differ among the features, and those without labels of their length, are counted
  // apart, each against half of all there are.
  void refuse_if_most_are_gone() const {
    std::uint64_t features = options_.too_long, labels = 0;
    for (std::size_t k = 1; k < sources_.size(); ++k)
      (sources_[k]->splits_frames() ? features : labels) += told_.left_out(k);
    const std::uint64_t all = total_ + options_.too_long;
    const std::uint64_t gone = std::max(features, labels);
    if (gone <= all / 2) return;
    throw refused("most-left-out",
                  grouped(gone) + " of " + grouped(all) + " sequences of " + names_of(primary()) +
                      (gone == labels || options_.too_long == 0 ? "" : " are too long or") +
                      " have no partner of the same length" +
                      (out_.notices.empty() ? "" : ": " + out_.notices.front().fault.what),
                  "check that features and labels belong together");
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

  const Sources& sources_;
  const std::optional<std::size_t> sizing_;
  const Options& options_;
  std::vector<KeyIndex> indices_;  // per secondary
  Told told_;
  std::uint64_t total_ = 0;          // sequences of the primary so far
  std::vector<SequenceInfo> table_;  // of the primary's chunk
  std::vector<Location> partners_;   // of one of its sequences
  std::vector<bool> any_length_;     // per source
  Matches out_;
};

}  // namespace

Matches cut_again(const Source& primary, Matches before) {
  Matches out;
  out.notices = std::move(before.notices);
  out.partners.resize(before.partners.size());
  std::vector<SequenceInfo> table;
  std::size_t from = 0;
  for (std::uint32_t c = 0; c < primary.chunks().size(); ++c) {
    primary.sequences(c, table);
    ChunkInfo info{.sequences = table.size(), .samples = 0, .bytes = primary.chunks()[c].bytes};
    out.primary_chunk.push_back(c);
    out.first.push_back(out.samples.size());
    for (std::size_t i = 0; i < table.size(); ++i, ++from) {
      while (before.samples[from] == 0) ++from;
      info.samples += before.samples[from];
      out.samples.push_back(before.samples[from]);
      for (std::size_t k = 0; k < out.partners.size(); ++k) out.partners[k].push_back(before.partners[k][from]);
    }
    out.chunks.push_back(info);
  }
  return out;
}

Matches match(const Sources& sources, std::optional<std::size_t> sizing, const Options& options) {
  return Matcher(sources, sizing, options).run();
}

}  // namespace batchfeed::join
