// SPDX-License-Identifier: MIT
//
// Sequences that lie whole in the piece at hand go from there straight to the
// column, checked on the way. Anything odd (a sequence over the end of a piece,
// counts that do not fit) goes through careful(), which makes the messages.
#include <algorithm>
#include <bit>

#include "base/counted.h"
#include "base/cpu.h"
#include "formats/cbf/sparse_rows.h"
#include "formats/cbf/stream_job.h"

namespace batchfeed::cbf {
namespace {

class SparseStream {
 public:
  explicit SparseStream(const StreamJob& job)
      : job_(job),
        feed_(job.feed),
        column_(job.column),
        width_(size_of(job.stream.element)),
        as_stored_(job.stream.element == job.column.element && std::endian::native == std::endian::little) {}

  void run() {
    column_.first_sample.resize(std::size_t{job_.stored.sequences} + 1);
    // A chunk this small cannot hold more than the limits allow.
    const bool small = feed_.left() / 4 <= most_values(job_.decoder.limits);
    for (std::uint32_t s = 0; s < job_.stored.sequences;) {
      if (small && as_stored_) s = plain(s);
      if (s < job_.stored.sequences) careful(s++);
    }
  }

 private:
  // Takes sequences from s on that lie whole in the bytes at hand and whose
  // counts agree; returns the first that was not taken.
  std::uint32_t plain(std::uint32_t s) {
    const std::span<const std::byte> bytes = feed_.ready();
    make_room(s, bytes);
    const std::size_t had = column_.indices.size();
    SparseRows rows{.at = bytes.data(),
                    .end = bytes.data() + bytes.size(),
                    .before = bytes.data(),
                    .sequence = s,
                    .sequences = job_.stored.sequences,
                    .samples = static_cast<std::uint32_t>(column_.first_value.size() - 1),
                    .room = column_.first_value.capacity() - column_.first_value.size(),
                    .width = width_,
                    .longest = job_.decoder.limits.sequence_samples,
                    .dim = job_.stream.dim,
                    .values = column_.values.data() + had * width_,
                    .indices = reinterpret_cast<std::byte*>(column_.indices.data() + had),
                    .first_value = &column_.first_value.back(),
                    .first_sample = column_.first_sample.data()};
    while (!take_(rows)) explain(rows);
    const std::size_t entries = *rows.first_value;
    column_.values.resize(entries * width_);
    column_.indices.resize(entries);
    column_.first_value.resize(std::size_t{rows.samples} + 1);
    feed_.skip(static_cast<std::size_t>(rows.at - bytes.data()));
    return rows.sequence;
  }

  // Reserves space, so that nothing grows inside the loop. What the sequences left will need is
  // estimated from those at hand, and a little more, as growing would copy everything. If all
  // are at hand and take far less than the bytes there, the rest belongs to other streams.
  void make_room(std::uint32_t s, std::span<const std::byte> bytes) {
    constexpr std::uint64_t kOver = 64;  // rows are copied in whole vectors
    const std::size_t had = column_.indices.size();
    const std::size_t at_hand = bytes.size() / (width_ + 4);
    std::size_t wanted = had + at_hand;
    if (wanted > column_.indices.capacity()) {
      const std::uint64_t left = job_.stored.sequences - s;
      const Whole whole = whole_ones(bytes, left);
      if (whole.sequences == left) {
        if (whole.entries < at_hand / 3) wanted = had + std::min<std::size_t>(at_hand, whole.entries + kOver);
      } else if (whole.sequences != 0) {
        const std::uint64_t more = whole.entries * (left - whole.sequences) / whole.sequences;
        const std::uint64_t most = had + feed_.left() / (width_ + 4);
        wanted = std::max<std::size_t>(wanted, std::min(wanted + more + more / 32 + at_hand, most));
      }
    }
    column_.values.reserve(wanted * width_);
    column_.indices.reserve(wanted);
    column_.first_value.reserve(column_.first_value.size() + samples_at_hand(bytes));
  }

  // Estimates the samples in `bytes`: as if all sequences were like the first one, and a quarter more; never more than
  // the bytes can hold.
  std::size_t samples_at_hand(std::span<const std::byte> bytes) const {
    const std::size_t most = bytes.size() / 4;
    if (bytes.size() < 8) return most;
    const std::uint64_t samples = load<std::uint32_t>(bytes.data()), entries = load<std::uint32_t>(bytes.data() + 4);
    const std::uint64_t size = 8 + entries * (width_ + 4) + samples * 4;
    return std::min<std::uint64_t>((bytes.size() / size + 1) * samples * 5 / 4 + 64, most);
  }

  // How many of the next `sequences` sequences lie whole in the bytes, and their entries.
  struct Whole {
    std::uint64_t sequences = 0, entries = 0;
  };
  Whole whole_ones(std::span<const std::byte> bytes, std::uint64_t sequences) const {
    const std::byte* p = bytes.data();
    const std::byte* const end = p + bytes.size();
    Whole out;
    for (; out.sequences < sequences && end - p >= 8; ++out.sequences) {
      const std::uint64_t count = load<std::uint32_t>(p + 4);
      const std::uint64_t size = count * (width_ + 4) + std::uint64_t{load<std::uint32_t>(p)} * 4;
      if (size > static_cast<std::size_t>(end - p) - 8) break;
      out.entries += count;
      p += 8 + size;
    }
    return out;
  }

  // Any sequence, with every check.
  void careful(std::uint32_t s) {
    const std::uint64_t at = feed_.at();
    if (feed_.left() < 8) job_.truncated(s, at, 0, 8);
    const std::byte* head = feed_.next(8);
    const auto n = load<std::uint32_t>(head);
    const auto nnz = load<std::int32_t>(head + 4);
    if (nnz < 0) bad_nnz(s, at + 4, nnz);
    const std::uint64_t count = static_cast<std::uint32_t>(nnz);
    const std::uint64_t bytes = count * (width_ + 4) + std::uint64_t{n} * 4;
    if (bytes > feed_.left()) job_.truncated(s, at, n, bytes);
    job_.limit_samples(at, n);
    const std::uint64_t samples = column_.first_value.size() - 1 + n;
    job_.limit_values(at, samples);
    job_.limit_values(at, column_.indices.size() + count);
    const std::size_t old = column_.indices.size();
    append_values(feed_, count, job_.stream.element, column_);
    append_indices(count);
    counts_.resize(std::size_t{n} * 4);
    feed_.copy(counts_.data(), counts_.size());
    column_.first_value.resize(static_cast<std::size_t>(samples) + 1);
    if (!add_counts(counts_.data(), n, count, column_.first_value.data() + (samples - n))) bad_sizes(s, n, count, at);
    column_.first_sample[s + 1] = static_cast<std::uint32_t>(samples);
    const std::uint32_t* const first = column_.first_value.data() + (samples - n);
    const auto* const indices = reinterpret_cast<const std::byte*>(column_.indices.data() + old);
    const bool fine = sound(indices, count_falls(indices, first[n] - first[0]), first, n, job_.stream.dim);
    to_native(old);
    if (!fine) explain(s, at);
  }

  // Appends n indices as stored, little-endian; to_native() swaps their bytes on other machines.
  void append_indices(std::uint64_t n) {
    const std::size_t old = column_.indices.size();
    column_.indices.resize(old + static_cast<std::size_t>(n));
    feed_.copy(reinterpret_cast<std::byte*>(column_.indices.data() + old), n * 4);
  }
  void to_native(std::size_t from) {
    if constexpr (std::endian::native == std::endian::little) return;
    for (std::size_t i = from; i < column_.indices.size(); ++i) column_.indices[i] = byte_swap(column_.indices[i]);
  }

  // Reports what is wrong with the indices of the sequence taken last.
  void explain(const SparseRows& rows) const {
    explain(rows.sequence - 1, feed_.at() + static_cast<std::uint64_t>(rows.before - feed_.ready().data()));
  }
  // The same of sequence s, which begins at offset `at` of the file.
  [[gnu::cold]] void explain(std::uint32_t s, std::uint64_t at) const {
    const Decoder& d = job_.decoder;
    const std::string& stream = job_.stream.name;
    const std::int32_t* const index = column_.indices.data();
    const std::uint32_t n = column_.samples(s);
    const std::uint32_t* const first = column_.first_value.data() + column_.first_sample[s];
    const auto place = [&](std::size_t i) {
      return at + 8 + (first[n] - first[0]) * width_ + (i - first[0]) * std::uint64_t{4};
    };
    for (std::size_t i = first[0]; i < first[n]; ++i) {
      if (static_cast<std::uint32_t>(index[i]) < job_.stream.dim) continue;
      d.damaged(job_.out, s,
                d.faults.make("cbf.index-out-of-range", place(i),
                              job_.who(s) + ": index " + std::to_string(index[i]) + ", expected 0 to " +
                                  std::to_string(job_.stream.dim - 1),
                              "the header says dimension " + std::to_string(job_.stream.dim), stream));
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      for (std::size_t i = std::size_t{first[k]} + 1; i < first[k + 1]; ++i) {
        if (index[i] > index[i - 1]) continue;
        if (place(i) < d.warned_to) break;
        const bool twice = index[i] == index[i - 1];
        const std::string id = twice ? "cbf.duplicate-index" : "cbf.unsorted-indices";
        d.sink.warning(id, [&] {
          return d.faults.make(id, place(i),
                               job_.who(s) + ", sample " + std::to_string(k) + ": index " + std::to_string(index[i]) +
                                   (twice ? " stands twice" : " stands behind " + std::to_string(index[i - 1])),
                               "the values are delivered as they are stored", stream);
        });
        break;
      }
    }
  }

  [[noreturn, gnu::cold]] void bad_nnz(std::uint32_t s, std::uint64_t at, std::int32_t nnz) const {
    job_.decoder.faults.fail("cbf.bad-nnz", at,
                             job_.who(s) + ": number of entries " + std::to_string(nnz) + ", expected 0 or more", {},
                             job_.stream.name);
  }

  // Throws, unless this is a check: then all entries are given to the first
  // sample, so that the offsets stay consistent.
  [[gnu::cold]] void bad_sizes(std::uint32_t s, std::uint32_t n, std::uint64_t nnz, std::uint64_t at) {
    std::uint64_t sum = 0;
    bool negative = false;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto size = load<std::int32_t>(counts_.data() + std::size_t{i} * 4);
      negative |= size < 0;
      sum += static_cast<std::uint32_t>(size);
    }
    std::string what = job_.who(s) + ": ";
    if (negative) {
      what += "a sample has a negative number of entries";
    } else {
      what += "its samples have " + counted(sum, "entry") + " together, the sequence has " + std::to_string(nnz);
    }
    const Decoder& d = job_.decoder;
    d.damaged(
        job_.out, s,
        d.faults.make("cbf.bad-sample-sizes", at + 8 + nnz * (width_ + 4), std::move(what), {}, job_.stream.name));
    std::uint32_t* const first = column_.first_value.end() - 1 - n;
    const std::uint32_t before = first[0];
    std::fill_n(first + 1, n, before + static_cast<std::uint32_t>(nnz));
    if (n > 0) return;
    column_.indices.resize(before);
    column_.values.resize(std::size_t{before} * size_of(column_.element));
  }

  const StreamJob& job_;
  Feed& feed_;
  Column& column_;
  const std::uint64_t width_;
  const bool as_stored_;
  const TakeRows take_ = take_rows(forced_tier());
  Buffer<std::byte> counts_;
};

}  // namespace

void decode_sparse(const StreamJob& job) { SparseStream(job).run(); }

}  // namespace batchfeed::cbf
