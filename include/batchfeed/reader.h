// SPDX-License-Identifier: MIT
//
// The reader: a corpus, an order and a packing make a stream of minibatches.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// What one minibatch consists of, without its data.
struct BatchPlan {
  struct Item {
    std::uint32_t chunk = 0, row = 0;
    std::uint64_t key = 0;
    std::uint64_t samples = 0;
    std::optional<std::uint32_t> frame = {};  // set where single frames are drawn
    std::uint32_t corpus = 0;                 // of a mixture
  };
  std::vector<Item> items = {};
  std::uint64_t position = 0;
  bool end_of_epoch = false, end_of_sweep = false;
};

// Not thread-safe; one consumer. In a child forked after it was opened, its non-const
// functions throw Error (usage). The destructor waits for the chunk reads under way, no
// longer, and leaves no thread. A moved-from reader may only be destroyed or assigned to.
//
// next() and read() throw an error at its place in the stream: for the first minibatch
// that needs the faulty chunk, and again at each later call; restore(state()) tries again
// behind the last minibatch. Exceptions of the caller's own Source or Report pass through
// unchanged.
class Reader {
 public:
  // Opens the sources, joins them by key and indexes what has no valid index
  // cache. Throws Error.
  explicit Reader(const Setup& setup);
  // Reads a source of the caller's own.
  Reader(std::shared_ptr<const Source> source, const ReaderOptions& options, const Limits& limits = {},
         const Report& report = {});
  // Reads a mixture of corpora, one for each of options.mix_weights.
  Reader(std::vector<std::shared_ptr<const Source>> corpora, const ReaderOptions& options, const Limits& limits = {},
         const Report& report = {});
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // The streams as delivered: truncated packing and ReaderOptions::legacy_speech make sparse ones dense. The references
  // from streams(), source() and options() are valid until the reader is destroyed or moved from.
  const std::vector<StreamInfo>& streams() const noexcept;
  // Known at open: of one sweep, all workers (a mixture: of all corpora together).
  std::uint64_t num_samples() const noexcept;
  std::uint64_t num_sequences() const noexcept;
  // Minibatches of epoch `epoch` with this worker's options, empty answers included;
  // a walk over metadata, no data are read. Throws Error (usage) if there is no end
  // within 2^44 samples.
  std::uint64_t num_minibatches(std::uint64_t epoch = 0) const;
  const Source& source() const noexcept;  // the joined corpus; of a mixture, its corpora one after the other
  std::shared_ptr<const Source> shared_source() const noexcept;  // the same; may outlive the reader
  const ReaderOptions& options() const noexcept;
  std::string key_text(std::uint64_t key) const;

  // The next minibatch that has data; nothing at the end of the epoch (call
  // begin_epoch() to go on). Epochs: the first call begins epoch `start_epoch`.
  std::optional<Minibatch> next();
  // The same into `out`, whose memory is reused; false at the end of the epoch.
  bool next(Minibatch& out);

  // The next answer as the reference gives it, also those without data; false
  // when the run is over. After an answer with end_of_epoch the next epoch
  // begins by itself.
  bool read(Minibatch& out);

  // Waits until next(out) has its answer ready, for at most `most`; false if it has not by
  // then. For callers who must check for signals while they wait. Without prefetch it makes
  // the answer itself, however long that takes. Like next(out) it reuses the memory of `out`,
  // whose data are lost. `all`: the same for read(out), which gives the next epoch's behind the end of one.
  bool wait(std::chrono::milliseconds most, Minibatch& out, bool all = false);
  // Whether next() and read() will give a minibatch with data, or the epoch's last answer,
  // at once: without work, waiting or a lock. Small minibatches are taken over several at a
  // time; this is true for all of them but the first.
  bool at_hand() const noexcept;

  // Undoes the last answer of next() or read(): it becomes the next one again. For callers who were interrupted before
  // they could pass it on. Does nothing if no answer was handed out since the reader was opened or its place or options
  // were changed (begin_epoch(), restore(), set_workers(), set_minibatch_size()).
  void take_back();

  // Makes the first answer of this epoch the next one. If the epoch before it has just ended,
  // the run goes on as with read(); otherwise the epoch begins as in a newly opened reader.
  void begin_epoch(std::uint64_t epoch);

  // Take effect with the next minibatch. Setting the present values changes nothing.
  void set_workers(std::uint64_t workers, std::uint64_t rank);
  void set_minibatch_size(std::uint64_t size);

  // The place behind the minibatch last handed out, as half a KiB of JSON, with truncated packing some 15 bytes more
  // for each row. restore() throws Error (kind state) if the state belongs to other data or other options.
  std::string state() const;
  void restore(std::string_view state);

  // Plans the current epoch's minibatches from the next one on, without reading data: up to `minibatches` of them, and
  // none behind the end of the epoch. If the epoch has ended, plans the next one (Driver::epochs).
  std::vector<BatchPlan> plan(std::uint64_t minibatches) const;
  // The same, one by one; the plan passed to `each` is valid only during that call.
  void plan(std::uint64_t minibatches, const std::function<void(const BatchPlan&)>& each) const;
  // How many minibatches with data next() will still give in the current epoch (of
  // an ended one: none), as far as can be planned without data; ~0 if there is no end
  // within 2^44 samples.
  std::uint64_t remaining() const;

  // Bytes of chunks: the most that the window needs, by their size in the files; in memory
  // now; and the most that were in memory.
  std::uint64_t memory_needed() const noexcept;
  std::uint64_t memory_held() const noexcept;
  std::uint64_t memory_peak() const noexcept;

  // Counts of the run up to the minibatch last handed out, the saved runs that it continues
  // included. skipped(): sequences that options leave out, by long_sequence, last_minibatch,
  // or, with truncated packing, because they waited in rows when the minibatch size or the
  // workers changed (with Shard::even those of all workers). invalid(): damaged sequences
  // left out, this worker's (with truncated packing and Shard::even those of all workers).
  // padding(): what bucketing saves.
  std::uint64_t skipped() const noexcept;
  std::uint64_t invalid() const noexcept;
  Padding padding() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Options that override what a configuration file says.
struct OpenOptions {
  std::string section = {};           // "Train.reader"; empty: the only reader section
  std::vector<std::string> set = {};  // configuration text, as on CNTK's command line
  std::optional<Element> precision = {};
  std::optional<std::uint64_t> minibatch_samples = {};
  std::optional<std::uint64_t> workers = {}, rank = {};
  std::optional<unsigned> threads = {};
  Limits limits = {};
  FileSystem file_system = {};  // reads URLs, and says which folders may be read
  Report report = {};
};

// A reader for a `.cntk` file.
Reader open(const std::string& config, const OpenOptions& options = {});

}  // namespace batchfeed
