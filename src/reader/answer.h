// SPDX-License-Identifier: MIT
//
// A minibatch on its way from its plan to the caller, and the memory that a run
// leaves to the next.
#pragma once

#include <batchfeed/minibatch.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "pack/minibatch_pool.h"
#include "pack/pack.h"
#include "reader/chunk_store.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// Resolved: the plan and its rows in chunks in memory. Done: the packed batch, or an error instead.
struct Answer {
  enum class Stage : std::uint8_t { resolved, packing, done };
  Stage stage = Stage::resolved;
  std::unique_ptr<Plan> plan;
  std::vector<pack::Slice> slices;
  std::vector<pack::Piece> pieces;
  ChunkStore::Taken whole;  // the chunk, if the answer consists of all its rows and owns it
  pack::Scratch scratch;
  Minibatch batch;
  Mark mark;
  std::exception_ptr error;
  bool end_of_epoch = false;
  std::uint64_t bytes = 0;  // of the batch, when it is done
};

// Memory that outlives a run, so that the next need not ask the system for it again.
struct RunMemory {
  explicit RunMemory(std::size_t minibatches) : pool(std::make_shared<detail::MinibatchPool>(minibatches)) {}
  ~RunMemory() { pool->close(); }
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  std::vector<std::unique_ptr<Answer>> answers;  // used by the pipeline, with its lock held
  std::vector<std::unique_ptr<Plan>> plans;      // used by the producer
  std::shared_ptr<detail::MinibatchPool> pool;   // thread-safe
};

}  // namespace batchfeed::reader
