// SPDX-License-Identifier: MIT
//
// Reads all of a corpus and tells every fault, in the order of the file although
// chunks are read by several threads.
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "assemble/open.h"
#include "base/threads.h"
#include "model/held_notices.h"
#include "model/read_chunk.h"
#include "reader/check_options.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

// What a thread finds while it reads a chunk waits here until the chunks before
// it have been told.
struct ChunkFindings {
  HeldNotices held;
  bool done = false, complete = true, no_memory = false;
};
thread_local ChunkFindings* pending = nullptr;

class SourceCheck {
 public:
  SourceCheck(const Source& source, Tally& tally, const Progress& progress, CheckResult& result)
      : source_(source), tally_(tally), progress_(progress), result_(result), slots_(source.chunks().size()) {
    for (const ChunkInfo& chunk : source.chunks()) bytes_ += chunk.bytes;
  }

  void run(unsigned threads) {
    std::vector<std::jthread> pool;
    if (start_threads(pool, std::min<std::size_t>(threads, slots_.size()), [this](std::size_t) { work(); }) == 0)
      work();
    std::uint64_t done = 0;
    for (std::uint32_t c = 0; c < slots_.size(); ++c) {
      const ChunkInfo& chunk = source_.chunks()[c];
      ChunkFindings found = wait_for(c);
      found.held.release(
          [&](const Notice& notice) { tally_.add(notice); },
          [&](const std::string& id, Severity severity, std::uint64_t n) { tally_.count(id, severity, n); });
      if (found.no_memory) {
        tally_.add({.severity = Severity::error,
                    .fault = {.kind = FaultKind::limit,
                              .id = "check.memory",
                              .what = "no memory for chunk " + std::to_string(c),
                              .hint = "a smaller `chunkSizeInBytes` needs less"}});
      }
      result_.complete = result_.complete && found.complete;
      result_.sequences += chunk.sequences;
      result_.samples += chunk.samples;
      result_.bytes += chunk.bytes;
      done += chunk.bytes;
      try {
        if (progress_) progress_(done, bytes_);
      } catch (...) {
        next_ = slots_.size();  // the threads end after the chunk they are at
        throw;
      }
    }
  }

 private:
  void work() {
    Chunk data;
    for (;;) {
      const std::size_t c = next_++;
      if (c >= slots_.size()) return;
      ChunkFindings found;
      pending = &found;
      try {
        try {
          read_in_parts(source_, static_cast<std::uint32_t>(c), data, [](std::uint32_t) {});
        } catch (const Error& error) {
          found.complete = false;
          found.held.add({.severity = Severity::error, .fault = error.fault()}, ~0ull);
        }
      } catch (const std::bad_alloc&) {
        found.complete = false;
        found.no_memory = true;  // nor, maybe, for a fault
      }
      pending = nullptr;
      found.done = true;
      const std::lock_guard lock(mutex_);
      slots_[c] = std::move(found);
      ready_.notify_all();
    }
  }

  ChunkFindings wait_for(std::size_t c) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return slots_[c].done; });
    return std::move(slots_[c]);
  }

  const Source& source_;
  Tally& tally_;
  const Progress& progress_;
  CheckResult& result_;
  std::uint64_t bytes_ = 0;
  std::vector<ChunkFindings> slots_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable ready_;
};

// The list of files, the streams' names and the like can be wrong for each
// source alone: one that cannot be opened does not hide the others' faults.
std::unique_ptr<Source> open_one(const SourceOptions& options, const OpenContext& context, Tally& tally,
                                 CheckResult& result) {
  try {
    return assemble::open_one(options, context);
  } catch (const Error& error) {
    if (error.fault().kind == FaultKind::internal) throw;
    tally.add({.severity = Severity::error, .fault = error.fault()});
    result.complete = false;
    return nullptr;
  }
}

// What a reader would refuse although every source can be read: options that contradict each other, minibatches
// that would be gaps for the most part.
void check_reading(std::vector<std::shared_ptr<const Source>> corpora, const Setup& setup, Tally& tally) {
  try {
    const Reader reader(std::move(corpora), setup.reader, setup.limits);
    reader::check_gaps(reader.options(), reader.num_samples(), setup.limits);
  } catch (const Error& error) {
    if (error.fault().kind == FaultKind::internal) throw;
    tally.add({.severity = Severity::error, .fault = error.fault()});
  }
}

}  // namespace

CheckResult check(const Setup& setup, const CheckOptions& options, const Report& report) {
  CheckResult result;
  Tally tally(options.max_faults, report);
  OpenContext context = assemble::context_of(setup);
  context.check = true;
  context.report = [&](const Notice& notice) {
    if (pending == nullptr) {
      tally.add(notice);
    } else {
      pending->held.add(notice, options.max_faults);
    }
  };
  context.count_only = [&](Severity severity, std::string_view id) {
    return pending == nullptr ? tally.count_only(severity, id)
                              : pending->held.count_only(severity, id, options.max_faults);
  };
  std::vector<std::shared_ptr<const Source>> corpora;
  const std::vector<Setup> setups = assemble::corpora_of(setup);
  for (const Setup& corpus : setups) {
    bool all_open = true;
    std::shared_ptr<const Source> source;
    for (const SourceOptions& one : corpus.sources) {
      source = open_one(one, context, tally, result);
      all_open = all_open && source != nullptr;
      ++result.sources;
      if (!source) continue;
      for (const Notice& notice : source->notices()) tally.add(notice);
      SourceCheck(*source, tally, options.progress, result).run(context.threads);
    }
    // What a join leaves out, and whether there is one at all.
    if (!all_open) continue;
    if (corpus.sources.size() == 1) {
      corpora.push_back(std::move(source));
      continue;
    }
    // Of what the sources say again nothing but the join's own is passed on.
    OpenContext joining = assemble::context_of(setup);
    joining.check = true;
    joining.report = [&](const Notice& notice) {
      if (notice.fault.id.starts_with("join.")) tally.add(notice);
    };
    try {
      corpora.push_back(assemble::open_all(corpus, joining));
    } catch (const Error& error) {
      tally.add({.severity = Severity::error, .fault = error.fault()});
    }
  }
  if (corpora.size() == setups.size()) check_reading(std::move(corpora), setup, tally);
  tally.into(result);
  return result;
}

}  // namespace batchfeed
