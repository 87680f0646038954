// SPDX-License-Identifier: MIT
#include "reader/legacy_speech.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/saturate.h"
#include "reader/queue_fields.h"

namespace batchfeed::reader {
namespace {

Error refused(std::string id, std::string what, std::string hint) {
  return Error(Fault{
      .kind = FaultKind::config, .id = "legacy." + std::move(id), .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

void check_legacy(const ReaderOptions& o) {
  if (!o.rolling_window || o.pack.kind == Packing::frames) return;
  throw refused("rolling-window", "readMethod = rollingWindow works on frames",
                "set `frameMode = true`, or `readMethod = blockRandomize`");
}

LegacyPlanner::LegacyPlanner(Draws draws, std::uint64_t sweep_samples, const ReaderOptions& options)
    : draws_(std::move(draws)), options_(options), epochs_(options, sweep_samples) {}

std::uint64_t LegacyPlanner::size() const { return minibatch_size(options_, mark_.epoch, mark_.index); }

void LegacyPlanner::begin_epoch(std::uint64_t epoch) {
  enter(epoch);
  // At the start of an epoch every row begins a piece.
  for (Row& row : rows_) row.piece = fetch_piece();
}

void LegacyPlanner::enter(std::uint64_t epoch) {
  draws_.begin_epoch(epochs_.begin(epoch), epochs_.size(epoch));
  mark_.past = draws_.past();
  epoch_end_ = epochs_.begin(epoch) + epochs_.size(epoch);
  enter_mark(epoch);
  pending_.reset();
  const std::uint64_t all = options_.rows_per_epoch.empty() ? 1 : by_epoch(options_.rows_per_epoch, epoch);
  if (all < options_.workers) {
    throw refused("rows",
                  std::to_string(all) + " parallel utterances (nbruttsineachrecurrentiter) are too few for " +
                      counted(options_.workers, "worker"),
                  "raise `nbruttsineachrecurrentiter`");
  }
  rows_.clear();
  rows_.resize(static_cast<std::size_t>(share(all, options_.workers, options_.rank)));
}

// One utterance at least; more as long as those of all workers together stay below the request and in the sweep. Only
// this worker's utterances are kept; pieces without any are passed over.
std::optional<LegacyPlanner::Piece> LegacyPlanner::fetch_piece() {
  if (!pending_) pending_ = draws_.next(mark_);
  Piece piece;
  while (pending_ && piece.utterances.empty()) {
    const std::uint64_t left = epoch_end_ > pending_->position ? epoch_end_ - pending_->position : 1;
    const std::uint64_t request = std::min(size(), left);
    bool end = false;
    for (std::uint64_t all = 0; pending_ && !end && (all == 0 || all + pending_->length < request);) {
      all += pending_->length;
      end = pending_->end_of_sweep;
      if (!pending_->foreign) {
        piece.length += pending_->length;
        piece.utterances.push_back(*pending_);
      }
      pending_ = draws_.next(mark_);
    }
  }
  if (piece.utterances.empty()) return std::nullopt;
  return piece;
}

void LegacyPlanner::put(const Piece& piece, std::uint32_t first, std::uint32_t count, std::uint32_t row,
                        std::uint32_t step, Plan& out) {
  std::uint32_t at = 0;  // where the utterance begins in the piece
  bool joins = false;
  for (const Utterance& u : piece.utterances) {
    const std::uint32_t from = std::max(first, at), to = std::min(first + count, at + u.length);
    if (from < to) {
      out.parts.push_back({.item = static_cast<std::uint32_t>(out.items.size()),
                           .row = row,
                           .step = step + (from - first),
                           .first = from - at,
                           .count = to - from,
                           .length = u.length,
                           .joins = joins,
                           .joined_begin = std::int64_t{step} - first,
                           .joined_length = piece.length});
      out.items.push_back({u.item.chunk, u.item.row, 0, PlanItem::kAll, to - from});
      joins = true;
      if (to == at + u.length) swept_ = swept_ || u.end_of_sweep;
    }
    at += u.length;
  }
}

void LegacyPlanner::whole_utterances(Plan& out) {
  std::uint32_t steps = 0;
  for (const Row& row : rows_) steps = std::max(steps, row.piece ? row.piece->length : 0);
  out.steps = steps;
  std::vector<std::uint32_t> used(rows_.size(), 0);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].piece) continue;
    put(*rows_[i].piece, 0, rows_[i].piece->length, i, 0, out);
    used[i] = rows_[i].piece->length;
    rows_[i].piece = fetch_piece();
  }
  for (Row& source : rows_) {
    while (source.piece) {
      const std::uint32_t length = source.piece->length;
      const auto room =
          std::find_if(used.begin(), used.end(), [&](std::uint32_t n) { return std::uint64_t{n} + length < steps; });
      if (room == used.end()) break;
      put(*source.piece, 0, length, static_cast<std::uint32_t>(room - used.begin()), *room, out);
      *room += length;
      source.piece = fetch_piece();
    }
  }
}

// At most two pieces a row and minibatch, as in the reference.
void LegacyPlanner::fill(Row& row, std::uint32_t index, std::uint32_t steps, Plan& out) {
  if (!row.piece) return;
  const std::uint32_t left = row.piece->length - row.cursor;
  if (left > steps) {
    put(*row.piece, row.cursor, steps, index, 0, out);
    row.cursor += steps;
    return;
  }
  if (left > 0) put(*row.piece, row.cursor, left, index, 0, out);
  row.piece = fetch_piece();
  row.cursor = 0;
  const std::uint32_t room = steps - left;
  if (!row.piece || room == 0) return;
  const std::uint32_t length = row.piece->length;
  put(*row.piece, 0, std::min(length, room), index, left, out);
  if (length >= room) {
    row.cursor = room;  // if that is all of it, its successor is fetched with the next minibatch
  } else {
    row.piece = fetch_piece();
  }
}

void LegacyPlanner::truncated(Plan& out) {
  out.steps = static_cast<std::uint32_t>(std::min<std::uint64_t>(size(), 0x7FFFFFFFu));
  for (std::uint32_t i = 0; i < rows_.size(); ++i) fill(rows_[i], i, out.steps, out);
}

void LegacyPlanner::next(Plan& out) {
  if (mark_.ended && options_.driver == ReaderOptions::Driver::epochs) begin_epoch(mark_.epoch + 1);
  out.items.clear();
  out.parts.clear();
  out.rectangular = true;
  out.rows = static_cast<std::uint32_t>(rows_.size());
  swept_ = false;
  if (options_.pack.kind == Packing::truncated) {
    truncated(out);
  } else {
    whole_utterances(out);
  }
  out.end_of_sweep = swept_;
  out.end_of_epoch = draws_.exhausted() && !pending_ &&
                     std::none_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.piece.has_value(); });
  out.window.clear();
  out.window_generation = 0;
  draws_.add_window(out.window);
  for (const Row& row : rows_) {
    if (!row.piece) continue;
    for (const Utterance& u : row.piece->utterances) out.window.push_back(u.item.chunk);
  }
  if (pending_ && !pending_->foreign) out.window.push_back(pending_->item.chunk);
  save(mark_.queue);
  leave_mark(draws_.position(), out);
}

// The oldest position; pending (a list of 0 or 1); then of each row: cursor and its
// utterances. Utterances by the position at which they were drawn, from the oldest on.
void LegacyPlanner::save(std::vector<std::uint64_t>& out) const {
  std::uint64_t oldest = pending_ ? pending_->position : draws_.position();
  for (const Row& row : rows_) {
    if (!row.piece) continue;
    for (const Utterance& u : row.piece->utterances) oldest = std::min(oldest, u.position);
  }
  out.assign({oldest, pending_ ? 1u : 0u});
  if (pending_) out.push_back(pending_->position - oldest);
  for (const Row& row : rows_) {
    out.insert(out.end(), {row.cursor, row.piece ? row.piece->utterances.size() : 0});
    if (!row.piece) continue;
    for (const Utterance& u : row.piece->utterances) out.push_back(u.position - oldest);
  }
}

void LegacyPlanner::restore(const Mark& mark) {
  enter(mark.epoch);
  mark_ = mark;
  draws_.set_past(mark.past);
  if (mark.queue.empty()) {  // given up: rows begin anew
    draws_.restore(mark.position, {});
    for (Row& row : rows_) row.piece = fetch_piece();
    return;
  }
  QueueFields fields(mark.queue);
  const std::uint64_t oldest = fields.next();
  std::vector<std::uint64_t> waiting;
  const auto list = [&] {
    const std::uint64_t n = fields.next();
    for (std::uint64_t i = 0; i < n; ++i) waiting.push_back(add_sat(oldest, fields.next()));
    return n;
  };
  const std::uint64_t pending = list();
  if (pending > 1) QueueFields::damaged();
  std::vector<std::uint64_t> counts;
  for (Row& row : rows_) {
    row.cursor = fields.next32();
    counts.push_back(list());
  }
  fields.expect_end();
  const std::vector<Utterance> drawn = draws_.restore(mark.position, waiting);
  auto from = drawn.begin();
  if (pending != 0) pending_ = *from++;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    if (counts[r] != 0) row.piece = Piece{};
    for (std::uint64_t i = 0; i < counts[r]; ++i) {
      if (from->foreign) QueueFields::damaged();
      row.piece->length += from->length;
      row.piece->utterances.push_back(*from++);
    }
    if (row.cursor > (row.piece ? row.piece->length : 0)) QueueFields::damaged();
  }
}

}  // namespace batchfeed::reader
