// SPDX-License-Identifier: MIT
//
// A minibatch on its way from its plan to the caller, and what runs leave to each
// other for making more of them.
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

// Its plan with the chunks it needs, then its data; or an error instead.
struct Answer {
  enum class Stage : std::uint8_t { resolved, packing, done };
  Stage stage = Stage::resolved;
  std::unique_ptr<Plan> plan;
  std::vector<pack::Slice> slices;
  std::vector<pack::Piece> pieces;
  ChunkStore::Taken whole;  // the chunk, if it is all of one and that is nobody else's
  pack::Scratch scratch;
  Minibatch batch;
  Mark mark;
  std::exception_ptr error;
  bool end_of_epoch = false;
  std::uint64_t bytes = 0;  // of the batch, when it is done
};

// What a run leaves to the next, so that it need not ask the system for it again.
struct RunMemory {
  explicit RunMemory(std::size_t minibatches) : pool(std::make_shared<detail::MinibatchPool>(minibatches)) {}
  ~RunMemory() { pool->close(); }
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  std::vector<std::unique_ptr<Answer>> answers;  // the pipeline's, with its lock held
  std::vector<std::unique_ptr<Plan>> plans;      // the producer's
  std::shared_ptr<detail::MinibatchPool> pool;   // thread-safe
};

}  // namespace batchfeed::reader
