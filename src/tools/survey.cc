// SPDX-License-Identifier: MIT
//
// Reads all of a corpus once, chunk by chunk on several threads. Each thread
// counts for itself; the counts are added up at the end.
#include <batchfeed/survey.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "assemble/open.h"
#include "base/saturate.h"
#include "base/threads.h"
#include "model/read_chunk.h"
#include "model/total.h"
#include "tools/duplicates.h"
#include "tools/row_hash.h"
#include "tools/stream_tally.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

constexpr std::uint64_t kMostLabelled = 1u << 24;
constexpr std::uint64_t kAnyLabels = 1u << 22;  // so many labels, of all streams together, are kept of any corpus
constexpr std::uint64_t kMostHashes = 1u << 24, kAnyHashes = 1u << 20, kBytesOfHash = 16;

// The counts of one thread.
struct Part {
  std::vector<StreamTally> streams;
  std::uint64_t invalid = 0;
  std::uint64_t hashed = 0;  // sequences
  std::vector<std::uint64_t> hashes;
  std::vector<SequenceInfo> table;  // of the current chunk
  std::size_t next = 0;             // the first sequence of the table not yet counted
};

class Surveyor {
 public:
  Surveyor(const Source& source, Tally& tally, const SurveyOptions& options, unsigned threads)
      : source_(source), tally_(tally), progress_(options.progress), columns_(options.columns), threads_(threads) {
    const ChunkInfo all = total(source.chunks());
    out_.sequences = all.sequences;
    out_.samples = all.samples;
    out_.bytes = all.bytes;
    // Hashes and labels must not take more memory than the corpus has bytes, beyond a minimum.
    const std::uint64_t hashes = std::clamp(out_.bytes / kBytesOfHash, kAnyHashes, kMostHashes);
    while ((out_.sequences >> thinned_) > hashes) ++thinned_;
    out_.duplicates_estimated = thinned_ != 0;
    // A label for each sequence and stream: there may be a thousand streams, and sequences of a few bytes.
    labelled_ = out_.sequences <= kMostLabelled &&
                mul_sat(out_.sequences, source.streams().size()) <= add_sat(kAnyLabels, out_.bytes);
    labels_.resize(source.streams().size());
    if (labelled_) {
      for (auto& stream : labels_) stream.resize(source.chunks().size());
    }
  }

  Survey run() {
    const auto began = std::chrono::steady_clock::now();
    std::vector<Part> parts(std::max<std::size_t>(1, std::min<std::size_t>(threads_, source_.chunks().size())));
    work_in_threads(parts);
    out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    merge(parts);
    return std::move(out_);
  }

 private:
  // Runs work() in as many threads as the system gives, and shortens `parts` to one for each. If a thread throws, all
  // end early, and the exception is rethrown.
  void work_in_threads(std::vector<Part>& parts) {
    std::vector<std::exception_ptr> errors(parts.size());
    const auto one = [&](std::size_t i) {
      try {
        work(parts[i]);
      } catch (...) {
        errors[i] = std::current_exception();
        next_ = source_.chunks().size();
      }
    };
    {
      std::vector<std::jthread> pool;  // joined at the end of this block
      out_.threads = static_cast<unsigned>(start_threads(pool, parts.size(), one));
      if (out_.threads == 0) one(out_.threads++);
    }
    parts.resize(out_.threads);
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

  void work(Part& part) {
    StreamTally::Left left{.indices = StreamSurvey::kMostIndices, .columns = columns_ ? StreamSurvey::kMostColumns : 0};
    for (const StreamInfo& stream : source_.streams()) part.streams.emplace_back(stream, left);
    Chunk chunk;
    RowHash hash;
    for (;;) {
      const std::size_t c = next_++;
      if (c >= source_.chunks().size()) return;
      try {
        source_.sequences(static_cast<std::uint32_t>(c), part.table);
        prepare(c, part);
        read_in_parts(source_, static_cast<std::uint32_t>(c), chunk,
                      [&](std::uint32_t first) { add(chunk, c, first, hash, part); });
      } catch (const Error& error) {
        if (error.fault().kind == FaultKind::internal) throw;
        tally_.add({.severity = Severity::error, .fault = error.fault()});
        complete_ = false;
        const std::lock_guard lock(progress_mutex_);
        if (!out_.unread && (error.fault().kind == FaultKind::io || error.fault().kind == FaultKind::stale))
          out_.unread = error.fault();
        continue;
      }
      const std::uint64_t done = done_ += source_.chunks()[c].bytes;
      const std::lock_guard lock(progress_mutex_);
      if (progress_) progress_(done, out_.bytes);
    }
  }

  void prepare(std::size_t c, Part& part) {
    part.next = 0;
    if (!labelled_) return;
    std::uint32_t rows = 0;  // may be more than the table has: it can leave rows out
    for (const SequenceInfo& s : part.table) rows = std::max(rows, s.row + 1);
    for (auto& stream : labels_) stream[c].assign(rows, Survey::kNoLabel);
  }

  // Counts a part of chunk `c`: the rows from `first` on that `chunk` holds.
  void add(const Chunk& chunk, std::size_t c, std::uint32_t first, RowHash& hash, Part& part) {
    const std::uint64_t mask = (1ull << thinned_) - 1;
    const std::size_t rows = chunk.columns.front().first_sample.size() - 1;
    for (; part.next < part.table.size(); ++part.next) {
      const std::uint32_t in_chunk = part.table[part.next].row, row = in_chunk - first;
      if (row >= rows) break;
      if (chunk.is_invalid(row)) {
        ++part.invalid;
        continue;
      }
      for (std::size_t s = 0; s < part.streams.size(); ++s) {
        const std::uint32_t label = part.streams[s].add(chunk.columns[s], row);
        if (labelled_) labels_[s][c][in_chunk] = label;
      }
      ++part.hashed;
      if (const std::uint64_t h = hash(chunk, row, {}); (h & mask) == 0) part.hashes.push_back(h);
    }
  }

  void merge(std::vector<Part>& parts) {
    std::vector<std::uint64_t>& hashes = parts[0].hashes;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      out_.invalid += parts[i].invalid;
      if (i == 0) continue;
      parts[0].hashed += parts[i].hashed;
      hashes.insert(hashes.end(), parts[i].hashes.begin(), parts[i].hashes.end());
      parts[i].hashes = {};
      for (std::size_t s = 0; s < parts[0].streams.size(); ++s) parts[0].streams[s].merge(parts[i].streams[s]);
    }
    for (StreamTally& stream : parts[0].streams) out_.streams.push_back(stream.finish());
    out_.duplicates = count_duplicates(hashes, parts[0].hashed, thinned_);
    choose_labels();
    tally_.into(out_.check);
    out_.check.sequences = out_.sequences;
    out_.check.samples = out_.samples;
    out_.check.bytes = out_.bytes;
    out_.check.complete = complete_;
  }

  // Chooses the label stream with the fewest classes, which shows best how well minibatches are mixed.
  void choose_labels() {
    const StreamSurvey* chosen = nullptr;
    for (std::size_t s = 0; labelled_ && s < out_.streams.size(); ++s) {
      const StreamSurvey& stream = out_.streams[s];
      if (!stream.one_hot || stream.used < 2 || (chosen != nullptr && chosen->used <= stream.used)) continue;
      chosen = &stream;
      out_.labels = std::move(labels_[s]);
      out_.label_stream = stream.stream.name;
    }
  }

  const Source& source_;
  Tally& tally_;
  const Progress& progress_;
  bool columns_;
  unsigned threads_;
  Survey out_;
  unsigned thinned_ = 0;  // one hash in 2^thinned_ is kept
  bool labelled_ = true;
  std::vector<std::vector<std::vector<std::uint32_t>>> labels_;  // stream, chunk, row
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> complete_ = true;
  std::mutex progress_mutex_;
};

}  // namespace

double StreamSurvey::quantile(double q) const { return std::clamp(counts.quantile(q), min, max); }

double StreamSurvey::density() const noexcept {
  const double all = static_cast<double>(samples) * static_cast<double>(stream.dim);
  return all == 0 ? 0 : static_cast<double>(values - zeros) / all;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> StreamSurvey::top(std::size_t most) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (std::size_t i = 0; i < by_index.size(); ++i) {
    if (by_index[i] != 0) out.emplace_back(i, by_index[i]);
  }
  const auto more = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  most = std::min(most, out.size());
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(most), out.end(), more);
  out.resize(most);
  return out;
}

Survey survey(const Setup& setup, const SurveyOptions& options, const Report& report) {
  Tally tally(options.max_faults, report);
  OpenContext context = assemble::context_of(setup);
  context.check = true;
  context.report = [&](const Notice& notice) { tally.add(notice); };
  context.count_only = [&](Severity severity, std::string_view id) { return tally.count_only(severity, id); };
  const std::unique_ptr<Source> source = assemble::open_as_one(setup, context);
  return Surveyor(*source, tally, options, context.threads).run();
}

}  // namespace batchfeed
