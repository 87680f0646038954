// SPDX-License-Identifier: MIT
//
// For tests: corpora given as lengths, and timelines driven by a small script.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::order {

// Metadata only. Keys count from 0 through all chunks; row i is sequence i.
class LengthSource final : public Source {
 public:
  using Lengths = std::vector<std::vector<std::uint32_t>>;

  explicit LengthSource(Lengths lengths) : lengths_(std::move(lengths)) {
    std::uint64_t key = 0;
    for (const auto& chunk : lengths_) {
      ChunkInfo info{.sequences = chunk.size()};
      for (const std::uint32_t samples : chunk) info.samples += samples;
      chunks_.push_back(info);
      first_key_.push_back(key);
      key += chunk.size();
    }
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    ++tables_read;
    out.clear();
    for (std::uint32_t i = 0; i < lengths_[chunk].size(); ++i) {
      out.push_back({first_key_[chunk] + i, i, lengths_[chunk][i]});
    }
  }
  void read(std::uint32_t /*chunk*/, Chunk& /*out*/) const override { FAIL() << "an order needs no data"; }

  std::uint64_t key(const Item& item) const { return first_key_[item.chunk] + item.row; }

  mutable std::uint64_t tables_read = 0;

 private:
  Lengths lengths_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
  std::vector<std::uint64_t> first_key_;
};

// "3 1 2;2 2", or "4x3" for 4 chunks of 3 one-sample sequences, "2x3x3" for
// 2 chunks of 3 sequences of 3 samples.
inline LengthSource::Lengths parse_lengths(const std::string& text) {
  if (text.find('x') != std::string::npos) {
    std::istringstream in(text);
    std::size_t chunks = 0, sequences = 0;
    std::uint32_t samples = 1;
    char x = 0;
    in >> chunks >> x >> sequences;
    if (in >> x) in >> samples;
    return LengthSource::Lengths(chunks, std::vector<std::uint32_t>(sequences, samples));
  }
  LengthSource::Lengths lengths(1);
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const bool last = word.back() == ';';
    if (last) word.pop_back();
    if (!word.empty()) lengths.back().push_back(static_cast<std::uint32_t>(std::stoul(word)));
    if (last) lengths.emplace_back();
  }
  return lengths;
}

// The id of the fault that a call throws.
template <class Call>
std::string id_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.fault().id;
  }
  return "none";
}

inline std::string keys_text(const LengthSource& source, const Batch& batch) {
  std::string text;
  for (const Item& item : batch.items) text += (text.empty() ? "" : " ") + std::to_string(source.key(item));
  return text;
}

inline std::string batch_text(const LengthSource& source, const Batch& batch) {
  return "[" + keys_text(source, batch) + "]" + (batch.end_of_sweep ? "s" : "") + (batch.end_of_epoch ? "e" : "");
}

inline std::uint64_t number_of(const std::string& word) {
  if (word == "inf") return Timeline::kUnlimited;
  if (word == "far") return Timeline::kUnlimited / 2;
  if (word == "whole") return kWholeSet;
  return std::stoull(word);
}

// "cntk 2 chunks 0" (window, unit, seed) or "file"; with "cross" behind it,
// minibatches may span sweeps.
inline std::unique_ptr<Timeline> parse_timeline(const Corpus& corpus, const std::string& text) {
  std::istringstream in(text);
  std::string kind, window = "0", unit = "chunks", seed = "0", cross;
  in >> kind;
  OrderOptions options{.kind = OrderKind::file};
  if (kind != "file") {
    in >> window >> unit >> seed;
    options = {.kind = kind == "cntk" ? OrderKind::cntk : OrderKind::uniform,
               .window = number_of(window),
               .window_in_samples = unit == "samples",
               .seed = number_of(seed)};
  }
  in >> cross;
  return make_timeline(corpus, options, cross == "cross", 1, 0);
}

// Commands, each with its numbers:
//   e SIZE INDEX W R   epoch INDEX of SIZE samples as rank R of W; SIZE * INDEX is its begin
//   E SIZE INDEX W R   the same, behind an epoch that was read to its end
//   n G L              a batch: "[keys]" with s = end of sweep, e = end of epoch
//   N COUNT LIMIT      COUNT batches with both limits equal
//   w W R              workers from the next restore on
//   r P                restore      R: restore the position it has now
//   p                  "at POSITION"
//   /                  "/"
// What they print is joined with blanks.
inline std::string run_script(const LengthSource& source, Timeline& timeline, const std::string& script) {
  std::istringstream in(script);
  std::string text;
  const auto say = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  const auto number = [&] {
    std::string word;
    in >> word;
    return number_of(word);
  };
  Batch batch;
  for (std::string command; in >> command;) {
    if (command == "e" || command == "E") {
      const std::uint64_t size = number(), index = number(), workers = number(), rank = number();
      timeline.set_workers(workers, rank);
      if (command == "e") {
        timeline.begin_epoch(size * index, size);
      } else {
        timeline.next_epoch(size * index, size);
      }
    } else if (command == "n") {
      const std::uint64_t global = number(), local = number();
      timeline.next(global, local, batch);
      say(batch_text(source, batch));
      EXPECT_EQ(batch.position, timeline.position());
    } else if (command == "N") {
      std::uint64_t count = number();
      const std::uint64_t limit = number();
      for (; count > 0; --count) {
        timeline.next(limit, limit, batch);
        say(batch_text(source, batch));
      }
    } else if (command == "w") {
      const std::uint64_t workers = number(), rank = number();
      timeline.set_workers(workers, rank);
    } else if (command == "r") {
      timeline.restore(number());
    } else if (command == "R") {
      timeline.restore(timeline.position());
    } else if (command == "p") {
      say("at " + std::to_string(timeline.position()));
    } else {
      say(command);
    }
  }
  return text;
}

}  // namespace batchfeed::order
