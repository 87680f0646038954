// SPDX-License-Identifier: MIT
//
// What a Reader is made of: what was given, the place behind the last minibatch, and, while it runs, the
// stages from chunks to minibatches.
#pragma once

#include <batchfeed/reader.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reader/chunk_store.h"
#include "reader/corpora.h"
#include "reader/epoch_table.h"
#include "reader/pipeline.h"
#include "reader/producer.h"

namespace batchfeed {

struct Reader::Impl {
  Impl(std::vector<std::shared_ptr<const Source>> parts, const ReaderOptions& given, const Limits& given_limits,
       Report given_report);
  static void end(std::unique_ptr<Impl>& impl) noexcept;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // `with_data`: truncated packing may look into chunks; otherwise it supposes that no sequence is
  // damaged, and that each is as long as its table says.
  std::unique_ptr<reader::Planner> make_planner(bool with_data);

  void start();
  // What is under way is given up; the next call goes on behind `mark`.
  void stop();
  void expect_same_process() const;
  // Warns once a reader, when the first minibatch of a reordered epoch (order::Past) is handed out.
  void tell_of_reordering();
  // Drops the sequences that wait in rows of truncated packing, when the minibatch size or the workers change.
  void give_up_waiting();
  // After a change of options that cuts minibatches anew.
  void number_anew();

  // After so many samples of the timeline without a sound sequence none will come.
  std::uint64_t most_damaged() const noexcept;
  // Whether the epoch is as good as endless.
  bool has_no_end(std::uint64_t epoch) const noexcept { return epochs().size(epoch) >= 1ull << 44; }
  // Bytes of chunks: those of the window, and those being read ahead.
  std::uint64_t memory_needed() const noexcept;
  bool small_chunks() const noexcept { return corpora.in_pieces() && options.memory_limit == 0; }
  // Chunks to ask for ahead of the window: as many as are read at once. Small ones are read in less time than a thread
  // may wait for a CPU, so of these as many again wait to be read, and one more waits to be packed.
  std::size_t chunks_ahead() const noexcept;
  std::uint64_t fingerprint() const;
  reader::EpochTable epochs() const { return {options, corpus.total_samples()}; }

  ReaderOptions options;
  Limits limits;
  Report report;
  reader::Corpora corpora;
  std::shared_ptr<const Source> source;   // all of it
  std::shared_ptr<const Source> as_read;  // the same, in the chunks that are read
  const order::Corpus& corpus;
  bool frames;                      // frames are drawn one by one
  std::vector<StreamInfo> streams;  // as delivered
  unsigned threads;
  pid_t pid;
  reader::Mark mark;    // behind the minibatch last handed out
  reader::Mark before;  // the place of that minibatch, if one was handed out
  bool handed_out = false;
  bool told_of_reordering = false;
  mutable std::optional<std::uint64_t> known_fingerprint, known_cuts;  // of the data; of the data and their chunks
  std::unique_ptr<reader::ChunkStore> store;
  std::unique_ptr<reader::Planner> planner;
  std::unique_ptr<reader::RunMemory> memory;
  std::unique_ptr<reader::Producer> producer;
  std::unique_ptr<reader::Pipeline> pipeline;

 private:
  void tell() const;
  std::unique_ptr<reader::Planner> make_whole_planner(bool with_data);
};

}  // namespace batchfeed
