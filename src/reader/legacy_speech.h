// SPDX-License-Identifier: MIT
//
// The minibatches of HTKMLFReader (docs/reference/formats/htk.md): utterances laid
// end to end make pieces, pieces fill rows. Frames need no planner of their own,
// only another reckoning of epochs.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "reader/draws.h"
#include "reader/epoch_table.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// Throws Error(config) for what the legacy reader cannot do.
void check_legacy(const ReaderOptions& options);

class LegacyPlanner final : public Planner {
 public:
  LegacyPlanner(Draws draws, std::uint64_t sweep_samples, const ReaderOptions& options);

  void begin_epoch(std::uint64_t epoch) override;
  void restore(const Mark& mark) override;
  void next(Plan& out) override;
  bool draws_ahead() const override { return true; }

 private:
  using Utterance = Draws::Drawn;
  // Utterances that are presented as one sequence.
  struct Piece {
    std::vector<Utterance> utterances;
    std::uint32_t length = 0;
  };
  struct Row {
    std::optional<Piece> piece;  // nothing: the data are used up
    std::uint32_t cursor = 0;    // frames of it already given
  };

  void enter(std::uint64_t epoch);
  std::uint64_t size() const;
  std::optional<Piece> fetch_piece();
  // Puts `count` frames of a piece from `first` on at `step` of a row.
  void put(const Piece& piece, std::uint32_t first, std::uint32_t count, std::uint32_t row, std::uint32_t step,
           Plan& out);
  void whole_utterances(Plan& out);
  void truncated(Plan& out);
  void fill(Row& row, std::uint32_t index, std::uint32_t steps, Plan& out);
  void save(std::vector<std::uint64_t>& out) const;

  Draws draws_;
  ReaderOptions options_;
  EpochTable epochs_;
  std::uint64_t epoch_end_ = 0;
  std::optional<Utterance> pending_;
  bool swept_ = false;
  std::vector<Row> rows_;
};

}  // namespace batchfeed::reader
