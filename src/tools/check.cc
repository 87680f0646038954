// SPDX-License-Identifier: MIT
//
// Reads all of a corpus and reports every fault. Several threads read chunks, but faults are
// reported in the order of the file.
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>

#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "assemble/open.h"
#include "model/held_notices.h"
#include "model/read_chunk.h"
#include "model/total.h"
#include "pack/pack.h"
#include "reader/check_options.h"
#include "tools/in_order.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

// The notices of one chunk, held until those of the chunks before it have been reported.
struct ChunkFindings {
  HeldNotices held;
  bool complete = true, no_memory = false;
};
thread_local HeldNotices* pending = nullptr;  // of the chunk that this thread reads, if any

// Chunks whose memory is reused. Only chunks being read take memory, not those whose findings wait.
class Spares {
 public:
  Chunk take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {};
    Chunk out = std::move(idle_.back());
    idle_.pop_back();
    return out;
  }
  void give(Chunk chunk) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(chunk));
  }

 private:
  std::mutex mutex_;
  std::vector<Chunk> idle_;
};

// Reports sequences of a part of a chunk that can be read but not packed as `packing` asks. `data` has the chunk's
// rows from `first` on.
void check_packing(const Source& source, Packing packing, std::uint32_t c, std::uint32_t first, const Chunk& data,
                   std::span<const SequenceInfo> table, std::uint64_t most) {
  for (SequenceInfo sequence : table) {
    if (sequence.row < first || sequence.row - first + 1 >= data.columns.front().first_sample.size()) continue;
    const std::uint32_t row = sequence.row;
    sequence.row -= first;
    if (data.is_invalid(sequence.row)) continue;
    std::optional<Fault> fault = pack::misfit(packing, source.streams(), data, sequence);
    if (!fault || pending->count_only(Severity::error, fault->id, most)) continue;
    fault->what = "sequence '" + source.key_text(sequence.key) + "' " + fault->what;
    fault->at = source.place(c, row).position();
    pending->add({.severity = Severity::error, .fault = std::move(*fault)}, most);
  }
}

void read_chunk(const Source& source, std::uint32_t c, Packing packing, std::uint64_t most, Spares& spares,
                ChunkFindings& found) {
  found.held = {};
  found.complete = true;
  found.no_memory = false;
  struct Scope {
    explicit Scope(HeldNotices& held) { pending = &held; }
    ~Scope() { pending = nullptr; }
  } const scope(found.held);
  try {
    try {
      Chunk data = spares.take();
      std::vector<SequenceInfo> table;
      if (packing != Packing::sequences) source.sequences(c, table);
      read_in_parts(source, c, data,
                    [&](std::uint32_t first) { check_packing(source, packing, c, first, data, table, most); });
      spares.give(std::move(data));
    } catch (const Error& error) {
      found.complete = false;
      found.held.add({.severity = Severity::error, .fault = error.fault()}, ~0ull);
    }
  } catch (const std::bad_alloc&) {
    found.complete = false;
    found.no_memory = true;  // there may be none for a Fault, either
  }
}

void check_chunks(const Source& source, Packing packing, const OpenContext& context, const CheckOptions& options,
                  Tally& tally, CheckResult& result) {
  const Progress& progress = options.progress;
  const std::span<const ChunkInfo> chunks = source.chunks();
  const std::uint64_t bytes = total(chunks).bytes;
  std::uint64_t done = 0;
  Spares spares;
  in_order<ChunkFindings>(
      chunks.size(), context.threads,
      [&](std::uint64_t c, ChunkFindings& found) {
        read_chunk(source, static_cast<std::uint32_t>(c), packing, options.max_faults, spares, found);
      },
      [&](std::uint64_t c, ChunkFindings& found) {
        found.held.release(
            [&](const Notice& notice) { tally.add(notice); },
            [&](const std::string& id, Severity severity, std::uint64_t n) { tally.count(id, severity, n); });
        if (found.no_memory) {
          tally.add({.severity = Severity::error,
                     .fault = {.kind = FaultKind::limit,
                               .id = "check.memory",
                               .what = "no memory for chunk " + std::to_string(c),
                               .hint = "a smaller `chunkSizeInBytes` needs less"}});
        }
        result.complete = result.complete && found.complete;
        result.sequences += chunks[c].sequences;
        result.samples += chunks[c].samples;
        result.bytes += chunks[c].bytes;
        done += chunks[c].bytes;
        if (progress) progress(done, bytes);
      });
}

// Opens one source of several; null, with the fault reported, if that fails: a source that cannot be opened must not
// hide the faults of the others.
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

// Reports what a Reader would refuse although every source can be read: options that contradict each other, or
// minibatches that would be mostly gaps.
void check_reading(std::vector<std::shared_ptr<const Source>> corpora, const Setup& setup, Tally& tally) {
  try {
    const Reader reader(std::move(corpora), setup.reader, setup.limits);
    reader::check_gaps(reader.options(), reader.num_samples(), setup.limits);
  } catch (const Error& error) {
    if (error.fault().kind == FaultKind::internal) throw;
    tally.add({.severity = Severity::error, .fault = error.fault()});
  }
}

// Checks how the sequences of a join can be packed. Its sources have been checked already, so only faults of packing
// are reported and counted.
void check_joined_packing(const Source& source, Packing packing, const OpenContext& context, std::uint64_t most,
                          Tally& tally) {
  if (packing == Packing::sequences || (packing == Packing::frames && source.splits_frames())) return;
  std::uint64_t told = 0;
  Tally its(most, [&](const Notice& notice) {
    if (!notice.fault.id.starts_with("pack.")) return;
    ++told;
    tally.add(notice);
  });
  CheckResult found;
  check_chunks(source, packing, context, {.max_faults = most}, its, found);
  its.into(found);
  const char* const id = packing == Packing::frames ? "pack.frame-length" : "pack.truncated-lengths";
  if (found.by_id[id] > told) tally.count(id, Severity::error, found.by_id[id] - told);
}

// The sources of `corpus` joined; null, with the fault reported, if they cannot be. Reports what the join leaves out,
// but not again the notices of its sources.
std::shared_ptr<const Source> check_join(const Setup& corpus, const Setup& setup, std::uint64_t most, Tally& tally) {
  OpenContext context = assemble::context_of(setup);
  context.check = context.lists_all = true;
  context.report = [&](Notice notice) {
    if (!notice.fault.id.starts_with("join.")) return;
    // An error, since a reader gets this sequence as a damaged one.
    if (notice.fault.id == "join.shorter") notice.severity = Severity::error;
    tally.add(notice);
  };
  try {
    std::shared_ptr<const Source> joined = assemble::open_all(corpus, context);
    check_joined_packing(*joined, setup.reader.pack.kind, context, most, tally);
    return joined;
  } catch (const Error& error) {
    if (error.fault().kind == FaultKind::internal) throw;
    tally.add({.severity = Severity::error, .fault = error.fault()});
    return nullptr;
  }
}

// Checks each source of a corpus by itself, then their join. Returns the source to read from; null if there is none.
std::shared_ptr<const Source> check_corpus(const Setup& corpus, const Setup& setup, const OpenContext& context,
                                           const CheckOptions& options, Tally& tally, CheckResult& result) {
  const bool single = corpus.sources.size() == 1;
  bool all_open = true;
  std::shared_ptr<const Source> source;
  for (const SourceOptions& one : corpus.sources) {
    source = open_one(one, context, tally, result);
    all_open = all_open && source != nullptr;
    ++result.sources;
    if (!source) continue;
    for (const Notice& notice : source->notices()) tally.add(notice);
    // Sources that are joined are not checked for packing here: the join may leave sequences out.
    const bool packed = single && !source->splits_frames();
    check_chunks(*source, packed ? setup.reader.pack.kind : Packing::sequences, context, options, tally, result);
  }
  if (!all_open) return nullptr;
  return single ? source : check_join(corpus, setup, options.max_faults, tally);
}

}  // namespace

CheckResult check(const Setup& setup, const CheckOptions& options, const Report& report) {
  CheckResult result;
  Tally tally(options.max_faults, report);
  OpenContext context = assemble::context_of(setup);
  context.check = context.lists_all = true;
  context.report = [&](const Notice& notice) {
    if (pending == nullptr) {
      tally.add(notice);
    } else {
      pending->add(notice, options.max_faults);
    }
  };
  context.count_only = [&](Severity severity, std::string_view id) {
    return pending == nullptr ? tally.count_only(severity, id) : pending->count_only(severity, id, options.max_faults);
  };
  std::vector<std::shared_ptr<const Source>> corpora;
  const std::vector<Setup> setups = assemble::corpora_of(setup);
  for (const Setup& corpus : setups) {
    if (auto source = check_corpus(corpus, setup, context, options, tally, result))
      corpora.push_back(std::move(source));
  }
  if (corpora.size() == setups.size()) check_reading(std::move(corpora), setup, tally);
  tally.into(result);
  return result;
}

}  // namespace batchfeed
