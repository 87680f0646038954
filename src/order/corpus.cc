// SPDX-License-Identifier: MIT
//
// The metadata an order works on: chunk sizes of the whole corpus, sequence
// tables of single chunks. A source's numbers are checked before they are used.
#include <algorithm>
#include <string>

#include "base/counted.h"
#include "order/table.h"

namespace batchfeed::order {
namespace {

constexpr std::uint64_t kMaxSequences = 0xFFFFFFFFull;  // of a chunk: an Entry numbers them in 32 bits

[[noreturn]] void refuse(FaultKind kind, const char* id, std::string what, std::string hint) {
  throw Error(Fault{.kind = kind, .id = id, .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

Corpus::Corpus(const Source& source, bool split_frames) : source_(&source), split_frames_(split_frames) {
  const std::vector<ChunkInfo>& chunks = source.chunks();
  if (chunks.size() > kMaxSequences) {
    refuse(FaultKind::limit, "order.chunks", "the corpus has " + counted(chunks.size(), "chunk") + ", more than 2^32-1",
           "use larger chunks");
  }
  sizes_.reserve(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t sequences = split_frames ? chunks[i].samples : chunks[i].sequences;
    const std::uint64_t samples = chunks[i].samples;
    // Positions must stay below 2^62, the number that stands for the whole set.
    if (sequences > kMaxSequences || samples >= kWholeSet - total_samples_) {
      refuse(FaultKind::limit, "order.chunk-size",
             "chunk " + std::to_string(i) + " says it has " + counted(sequences, "sequence") + " of " +
                 counted(samples, "sample") + " in all, more than can be counted",
             "use smaller chunks");
    }
    sizes_.push_back({sequences, samples});
    total_sequences_ += sequences;
    total_samples_ += samples;
  }
}

void Corpus::table(std::uint32_t chunk, std::vector<Item>& out) const {
  const Table table(*this, chunk);
  table.append(0, table.size(), out);
}

Table::Table(const Corpus& corpus, std::uint32_t chunk) : chunk_(chunk) {
  std::vector<SequenceInfo> infos;
  corpus.source().sequences(chunk, infos);
  std::uint64_t samples = 0;
  bool alike = true;
  bool plain = true;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    samples += infos[i].samples;
    alike = alike && infos[i].samples == infos[0].samples;
    plain = plain && infos[i].row == i;
  }
  const std::uint64_t sequences = corpus.split_frames() ? samples : infos.size();
  if (sequences != corpus.sequences(chunk) || samples != corpus.samples(chunk)) {
    refuse(FaultKind::format, "source.table",
           "chunk " + std::to_string(chunk) + ": its table has " + counted(sequences, "sequence") + " of " +
               counted(samples, "sample") + " in all, the list of chunks says " +
               std::to_string(corpus.sequences(chunk)) + " of " + std::to_string(corpus.samples(chunk)),
           "chunks() and sequences() of a source must agree");
  }
  size_ = static_cast<std::uint32_t>(sequences);
  if (!plain) {
    rows_.reserve(infos.size());
    for (const SequenceInfo& info : infos) rows_.push_back(info.row);
  }
  if (corpus.split_frames()) {
    std::uint32_t end = 0;
    frame_end_.reserve(infos.size());
    frame_block_.reserve((size_ >> kBlockShift) + 1);
    for (const SequenceInfo& info : infos) {
      end += info.samples;
      while (frame_block_.size() << kBlockShift < end)
        frame_block_.push_back(static_cast<std::uint32_t>(frame_end_.size()));
      frame_end_.push_back(end);
    }
  } else if (alike) {
    common_samples_ = infos.empty() ? 1 : infos[0].samples;
  } else {
    samples_.reserve(infos.size());
    for (const SequenceInfo& info : infos) samples_.push_back(info.samples);
  }
}

Item Table::frame(std::uint32_t i) const noexcept {
  std::uint32_t sequence = frame_block_[i >> kBlockShift];
  return frame(i, sequence);
}

void Table::append(std::uint32_t from, std::uint32_t to, std::vector<Item>& out) const {
  const std::size_t before = out.size();
  out.resize(before + (to - from));
  Item* item_of = out.data() + before;
  if (frame_end_.empty()) {
    for (std::uint32_t i = from; i < to; ++i) *item_of++ = item(i);
  } else if (from < to) {
    std::uint32_t sequence = frame_block_[from >> kBlockShift];
    for (std::uint32_t i = from; i < to; ++i) *item_of++ = frame(i, sequence);
  }
}

}  // namespace batchfeed::order
