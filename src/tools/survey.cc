// SPDX-License-Identifier: MIT
//
// Reads all of a corpus once, chunk by chunk on several threads. Each thread
// counts for itself; the counts are added up at the end.
#include <batchfeed/survey.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

#include "assemble/open.h"
#include "tools/row_hash.h"
#include "tools/tally.h"

namespace batchfeed {

namespace {

constexpr std::uint64_t kMostLabelled = 1u << 24;
constexpr std::uint64_t kMostHashes = 1u << 24;
constexpr std::uint64_t kMostConstants = 100;

// What one thread has seen of one stream.
class StreamTally {
 public:
  explicit StreamTally(const StreamInfo& stream) {
    out_.stream = stream;
    out_.min = std::numeric_limits<double>::infinity();
    out_.max = -out_.min;
    out_.one_hot = true;
    if (stream.dim > StreamSurvey::kMostIndices) return;
    out_.by_index.resize(static_cast<std::size_t>(stream.dim));
    if (stream.storage == Storage::dense) {
      first_.resize(static_cast<std::size_t>(stream.dim));
      varies_.resize(static_cast<std::size_t>(stream.dim));
    }
  }

  // A whole sequence; the label of its first sample.
  std::uint32_t add(const Column& column, std::uint32_t row) {
    return column.element == Element::f32 ? add_row<float>(column, row) : add_row<double>(column, row);
  }

  void merge(const StreamTally& other) {
    StreamSurvey& a = out_;
    const StreamSurvey& b = other.out_;
    for (std::size_t i = 0; i < first_.size() && b.samples != 0; ++i) {
      if (a.samples == 0) first_[i] = other.first_[i];
      varies_[i] = varies_[i] || other.varies_[i] || first_[i] != other.first_[i];
    }
    a.samples += b.samples;
    a.values += b.values;
    a.zeros += b.zeros;
    a.nans += b.nans;
    a.infinities += b.infinities;
    a.min = std::min(a.min, b.min);
    a.max = std::max(a.max, b.max);
    a.whole = a.whole && b.whole;
    a.one_hot = a.one_hot && b.one_hot;
    a.counts.add(b.counts);
    for (std::size_t i = 0; i < a.by_index.size(); ++i) a.by_index[i] += b.by_index[i];
    moments_.merge(other.moments_);
  }

  StreamSurvey finish() {
    StreamSurvey& out = out_;
    out.mean = moments_.mean;
    out.deviation = moments_.n == 0 ? 0 : std::sqrt(moments_.squares / static_cast<double>(moments_.n));
    if (moments_.n == 0) out.min = out.max = 0;
    out.one_hot = out.one_hot && out.samples != 0 && out.stream.dim > 1;
    out.used = static_cast<std::uint64_t>(
        std::count_if(out.by_index.begin(), out.by_index.end(), [](std::uint64_t n) { return n != 0; }));
    for (std::size_t i = 0; i < varies_.size() && out.samples > 1; ++i) {
      if (varies_[i]) continue;
      ++out.constants;
      if (out.constant.size() < kMostConstants) out.constant.push_back(i);
    }
    return std::move(out_);
  }

 private:
  // Chan, Golub, LeVeque: how sums of squares of two parts are joined.
  struct Moments {
    std::uint64_t n = 0;
    double mean = 0, squares = 0;  // of the distances from the mean
    void merge(const Moments& other) {
      if (other.n == 0) return;
      const double all = static_cast<double>(n + other.n), delta = other.mean - mean;
      squares += other.squares + delta * delta * static_cast<double>(n) * static_cast<double>(other.n) / all;
      mean += delta * static_cast<double>(other.n) / all;
      n += other.n;
    }
  };

  template <class T>
  std::uint32_t add_row(const Column& column, std::uint32_t row) {
    std::uint32_t label = Survey::kNoLabel;
    for (std::uint32_t i = 0; i < column.samples(row); ++i) {
      const std::uint32_t one =
          column.storage == Storage::dense ? add_dense<T>(column, row, i) : add_sparse<T>(column, row, i);
      if (i == 0) label = one;
    }
    return label;
  }

  template <class T>
  std::uint32_t add_dense(const Column& column, std::uint32_t row, std::uint32_t i) {
    const T* const values = column.as<T>() + column.begin[row] + i * column.step;
    const auto dim = static_cast<std::size_t>(column.dim);
    const Hot hot = add_values(values, dim, [](std::size_t d) { return d; });
    if (!first_.empty()) {
      if (out_.samples == 0) std::copy(values, values + dim, first_.begin());
      // A NaN is unlike itself: a column of them varies.
      for (std::size_t d = 0; d < dim; ++d) varies_[d] |= static_cast<double>(values[d]) != first_[d];
    }
    ++out_.samples;
    return label_of(hot);
  }

  template <class T>
  std::uint32_t add_sparse(const Column& column, std::uint32_t row, std::uint32_t i) {
    const std::size_t n = std::size_t{column.first_sample[row]} + i;
    const std::size_t begin = column.first_value[n], end = column.first_value[n + 1];
    const std::int32_t* const indices = column.indices.data() + begin;
    const Hot hot = add_values(column.as<T>() + begin, end - begin,
                               [&](std::size_t k) { return static_cast<std::size_t>(indices[k]); });
    ++out_.samples;
    return label_of(hot);
  }

  struct Hot {
    std::size_t values = 0, index = 0;  // that are not 0; the last one's index
    bool is_one = true;
  };

  template <class T, class IndexOf>
  Hot add_values(const T* values, std::size_t n, const IndexOf& index_of) {
    Hot hot;
    // Sums of one sample around its first value, so that little is lost.
    Moments part;
    double pivot = 0, sum = 0, squares = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double value = static_cast<double>(values[k]);
      out_.counts.add(static_cast<float>(values[k]));
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out_.nans : out_.infinities);
      } else {
        if (part.n++ == 0) pivot = value;
        sum += value - pivot;
        squares += (value - pivot) * (value - pivot);
        out_.min = std::min(out_.min, value);
        out_.max = std::max(out_.max, value);
        if (std::abs(value) < 1e18)
          out_.whole = out_.whole && static_cast<double>(static_cast<std::int64_t>(value)) == value;
      }
      if (value == 0) {
        ++out_.zeros;
        continue;
      }
      hot.is_one = hot.is_one && value == 1;
      hot.index = index_of(k);
      ++hot.values;
      if (!out_.by_index.empty()) ++out_.by_index[hot.index];
    }
    out_.values += n;
    if (part.n != 0) {
      const auto count = static_cast<double>(part.n);
      part.mean = pivot + sum / count;
      part.squares = std::max(0.0, squares - sum * sum / count);
      moments_.merge(part);
    }
    return hot;
  }

  std::uint32_t label_of(const Hot& hot) {
    const bool is_label = hot.values == 1 && hot.is_one;
    out_.one_hot = out_.one_hot && is_label;
    return is_label ? static_cast<std::uint32_t>(hot.index) : Survey::kNoLabel;
  }

  StreamSurvey out_;
  Moments moments_;
  std::vector<double> first_;
  std::vector<char> varies_;
};

// What one thread has seen.
struct Part {
  std::vector<StreamTally> streams;
  std::uint64_t invalid = 0;
  std::vector<std::uint64_t> hashes;
};

class Surveyor {
 public:
  Surveyor(const Source& source, Tally& tally, const Progress& progress, unsigned threads)
      : source_(source), tally_(tally), progress_(progress), threads_(threads) {
    for (const ChunkInfo& chunk : source.chunks()) {
      out_.sequences += chunk.sequences;
      out_.samples += chunk.samples;
      out_.bytes += chunk.bytes;
    }
    while ((out_.sequences >> thinned_) > kMostHashes) ++thinned_;
    labelled_ = out_.sequences <= kMostLabelled;
    labels_.resize(source.streams().size());
    if (labelled_) {
      for (auto& stream : labels_) stream.resize(source.chunks().size());
    }
  }

  Survey run() {
    const auto began = std::chrono::steady_clock::now();
    out_.threads =
        static_cast<unsigned>(std::max<std::size_t>(1, std::min<std::size_t>(threads_, source_.chunks().size())));
    std::vector<Part> parts(out_.threads);
    std::vector<std::exception_ptr> errors(out_.threads);
    {
      std::vector<std::jthread> pool;
      for (unsigned i = 0; i < out_.threads; ++i) {
        pool.emplace_back([&, i] {
          try {
            work(parts[i]);
          } catch (...) {
            errors[i] = std::current_exception();
            next_ = source_.chunks().size();
          }
        });
      }
    }
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    merge(parts);
    return std::move(out_);
  }

 private:
  void work(Part& part) {
    for (const StreamInfo& stream : source_.streams()) part.streams.emplace_back(stream);
    Chunk chunk;
    RowHash hash;
    for (;;) {
      const std::size_t c = next_++;
      if (c >= source_.chunks().size()) return;
      try {
        source_.read(static_cast<std::uint32_t>(c), chunk);
      } catch (const Error& error) {
        if (error.fault().kind == FaultKind::internal) throw;
        tally_.add({.severity = Severity::error, .fault = error.fault()});
        complete_ = false;
        continue;
      }
      add(chunk, c, hash, part);
      const std::uint64_t done = done_ += source_.chunks()[c].bytes;
      const std::lock_guard lock(progress_mutex_);
      if (progress_) progress_(done, out_.bytes);
    }
  }

  void add(const Chunk& chunk, std::size_t c, RowHash& hash, Part& part) {
    const auto rows = static_cast<std::uint32_t>(source_.chunks()[c].sequences);
    if (labelled_) {
      for (auto& stream : labels_) stream[c].assign(rows, Survey::kNoLabel);
    }
    const std::uint64_t mask = (1ull << thinned_) - 1;
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (chunk.is_invalid(row)) {
        ++part.invalid;
        continue;
      }
      for (std::size_t s = 0; s < part.streams.size(); ++s) {
        const std::uint32_t label = part.streams[s].add(chunk.columns[s], row);
        if (labelled_) labels_[s][c][row] = label;
      }
      if (const std::uint64_t h = hash(chunk, row, {}); (h & mask) == 0) part.hashes.push_back(h);
    }
  }

  void merge(std::vector<Part>& parts) {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      out_.invalid += parts[i].invalid;
      hashes.insert(hashes.end(), parts[i].hashes.begin(), parts[i].hashes.end());
      for (std::size_t s = 0; i != 0 && s < parts[0].streams.size(); ++s)
        parts[0].streams[s].merge(parts[i].streams[s]);
    }
    for (StreamTally& stream : parts[0].streams) out_.streams.push_back(stream.finish());
    std::sort(hashes.begin(), hashes.end());
    const auto different = static_cast<std::uint64_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
    out_.duplicates = (hashes.size() - different) << thinned_;
    choose_labels();
    tally_.into(out_.check);
    out_.check.sequences = out_.sequences;
    out_.check.samples = out_.samples;
    out_.check.bytes = out_.bytes;
    out_.check.complete = complete_;
  }

  // Of several label streams the one with the fewest classes: it shows best how
  // well a minibatch is mixed.
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
  unsigned threads_;
  Survey out_;
  unsigned thinned_ = 0;  // of hashes, one in 2^thinned_ is kept
  bool labelled_ = true;
  std::vector<std::vector<std::vector<std::uint32_t>>> labels_;  // stream, chunk, row
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> complete_ = true;
  std::mutex progress_mutex_;
};

}  // namespace

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

Survey survey(const Setup& setup, const CheckOptions& options, const Report& report) {
  Tally tally(options.max_faults, report);
  OpenContext context = assemble::context_of(setup);
  context.check = true;
  context.report = [&](const Notice& notice) { tally.add(notice); };
  const std::unique_ptr<Source> source = assemble::open_all(setup, context);
  return Surveyor(*source, tally, options.progress, context.threads).run();
}

}  // namespace batchfeed
