// SPDX-License-Identifier: MIT
#include "reader/corpora.h"

#include <algorithm>

#include "base/rng.h"
#include "base/saturate.h"
#include "join/join.h"
#include "model/total.h"
#include "order/bucket.h"
#include "order/mix.h"
#include "reader/check_options.h"
#include "reader/epoch_table.h"

namespace batchfeed::reader {

namespace {
using Sources = std::vector<std::shared_ptr<const Source>>;

// Bytes of the file in a piece. Its columns and minibatches stay in the caches of two cores; shorter pieces would cost
// more in hand-overs than they gain. The longer ones are for sparse text, which takes less memory than it has bytes,
// and for overlapping windows of frames, which store less than they deliver.
constexpr std::uint64_t kPiece = 2u << 20, kShortPiece = 1u << 20;

bool is_read_as_stored(const Source& part) {
  const RowReader* const rows = part.chunks().empty() ? nullptr : part.row_reader(0);
  return rows != nullptr && rows->row_memory(0) == RowMemory::as_stored;
}

std::uint64_t bytes_of_piece(const Source& part) {
  if (is_read_as_stored(part)) return kShortPiece;
  const ChunkInfo all = total(part.chunks());
  std::uint64_t sample = 0;
  for (const StreamInfo& stream : part.streams()) {
    if (stream.storage == Storage::dense) sample = add_sat(sample, mul_sat(stream.dim, size_of(stream.element)));
  }
  const std::uint64_t dense = mul_sat(all.samples, sample);
  return dense > all.bytes / 2 && dense < mul_sat(all.bytes, 4) ? kShortPiece : kPiece;
}

// The minibatches from the first sequence on, if they are known and handing over pieces gains something: not for binary
// data, which have lengths between the values, nor for speech, whose values are written past the cache.
Minibatches minibatches_of(const Source& part, const ReaderOptions& options) {
  const bool known = options.mix_weights.empty() && options.workers == 1 && options.bucket_minibatches == 0 &&
                     options.pack.kind != Packing::truncated;
  const bool gains = known && !part.splits_frames() && !is_read_as_stored(part);
  return {.size = gains ? options.minibatch_size.front() : 0, .unit = options.size_unit};
}

// The files' own order needs no whole chunk in memory.
std::vector<std::shared_ptr<const Pieces>> cut(const Sources& parts, const ReaderOptions& options) {
  std::vector<std::shared_ptr<const Pieces>> out;
  if (options.order.kind != OrderKind::file || options.keep_in_memory || options.legacy_speech) return out;
  for (const auto& part : parts)
    out.push_back(std::make_shared<const Pieces>(part, bytes_of_piece(*part), minibatches_of(*part, options)));
  return out;
}
}  // namespace

Corpora::Corpora(Sources parts, const ReaderOptions& options)
    : source_(join::concatenate(parts)),
      pieces_(cut(parts, options)),
      parts_(pieces_.empty() ? parts : Sources(pieces_.begin(), pieces_.end())),
      as_read_(pieces_.empty() ? source_ : join::concatenate(parts_)),
      whole_(*as_read_, options.pack.kind == Packing::frames && source_->splits_frames()) {
  std::uint32_t chunk = 0, source_chunk = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    part_corpora_.emplace_back(*parts_[i], whole_.split_frames());
    first_chunk_.push_back(chunk);
    first_source_chunk_.push_back(source_chunk);
    chunk += part_corpora_.back().chunks();
    source_chunk += static_cast<std::uint32_t>(parts[i]->chunks().size());
    if (part_corpora_.back().total_samples() != 0) continue;
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "reader.no-samples",
                      .what = parts_.size() == 1 ? std::string("the corpus has no samples")
                                                 : "corpus " + std::to_string(i + 1) + " of the mixture has no samples",
                      .hint = "it has no sequence, or none but empty ones"});
  }
}

std::uint32_t Corpora::part_of(std::uint32_t chunk) const noexcept {
  const auto behind = std::upper_bound(first_chunk_.begin(), first_chunk_.end(), chunk);
  return static_cast<std::uint32_t>(behind - first_chunk_.begin()) - 1;
}

bool Corpora::in_pieces() const noexcept {
  const std::vector<ChunkInfo>& chunks = as_read_->chunks();
  return !pieces_.empty() &&
         std::all_of(chunks.begin(), chunks.end(), [](const ChunkInfo& chunk) { return chunk.bytes <= 2 * kPiece; });
}

Pieces::Part Corpora::in_source(std::uint32_t chunk) const noexcept {
  if (pieces_.empty()) return {.chunk = chunk};
  const std::uint32_t part = part_of(chunk);
  Pieces::Part found = pieces_[part]->part(chunk - first_chunk_[part]);
  found.chunk += first_source_chunk_[part];
  return found;
}

std::unique_ptr<order::Timeline> Corpora::mixture(const ReaderOptions& options) const {
  std::vector<order::MixPart> parts;
  for (std::size_t i = 0; i < part_corpora_.size(); ++i) {
    OrderOptions order = options.order;
    if (i != 0) order.seed = mix64(order.seed + i);  // corpora of one size are not to be shuffled alike
    parts.push_back({.timeline = order::make_timeline(part_corpora_[i], order, true, 1, 0),
                     .weight = options.mix_weights[i],
                     .first_chunk = first_chunk_[i]});
  }
  return std::make_unique<order::MixTimeline>(std::move(parts), options.order.seed);
}

std::unique_ptr<order::Timeline> Corpora::make_timeline(const ReaderOptions& options) const {
  const bool mixed = !options.mix_weights.empty();
  const bool even = options.shard == Shard::even;
  const bool bucketed = options.bucket_minibatches != 0;
  auto timeline =
      mixed ? mixture(options)
            : order::make_timeline(whole_, options.order, crosses_sweeps(options) && !bucketed,
                                   even ? 1 : options.workers, even ? 0 : options.rank, !options.legacy_speech);
  if (!bucketed) return timeline;
  const order::BucketTimeline::Size size{.unit = options.size_unit, .size = options.minibatch_size.front()};
  std::uint64_t samples = size.size;  // of a minibatch, about
  if (size.unit == SizeUnit::sequences) {
    const std::uint64_t mean = (whole_.total_samples() + whole_.total_sequences() - 1) / whole_.total_sequences();
    samples = mul_sat(samples, mean);
  }
  // A mixture has no end of a sweep at which a pool would end: it has no more than all corpora together, or one
  // minibatch, which ends with its epoch.
  const std::uint64_t most =
      std::max(whole_.total_samples(), std::min(samples, EpochTable(options, whole_.total_samples()).size(0)));
  return std::make_unique<order::BucketTimeline>(std::move(timeline), mixed ? 0 : whole_.total_samples(),
                                                 std::min(mul_sat(samples, options.bucket_minibatches), most), size,
                                                 options.order.seed);
}

}  // namespace batchfeed::reader
