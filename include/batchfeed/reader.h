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

// Not thread-safe; one consumer. Opened before fork() it refuses to work in the
// child. Destroying it waits for at most the chunk reads under way and leaves no thread.
// One that was moved from can be destroyed or assigned to.
//
// What next() and read() throw comes at its place in the stream, that is with the first
// minibatch that needs its chunk, and again at each later call; restore(state()) tries
// again behind the last minibatch. What a Source or Report of the caller's own throws
// comes as it is.
class Reader {
 public:
  // Opens the sources, joins them by key and indexes what has no valid index
  // cache. Throws Error.
  explicit Reader(const Setup& setup);
  // Reads a source of the caller's own.
  Reader(std::shared_ptr<const Source> source, const ReaderOptions& options, const Limits& limits = {},
         const Report& report = {});
  // Reads a mixture of them, one for each of options.mix_weights.
  Reader(std::vector<std::shared_ptr<const Source>> corpora, const ReaderOptions& options, const Limits& limits = {},
         const Report& report = {});
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // As they are delivered: truncated packing and the legacy reader make sparse ones dense. This reference, and those
  // of source() and options(), live as long as the reader, or until it is moved from.
  const std::vector<StreamInfo>& streams() const noexcept;
  // Known at open: of one sweep, all workers (a mixture: of all corpora together).
  std::uint64_t num_samples() const noexcept;
  std::uint64_t num_sequences() const noexcept;
  // Minibatches of epoch `epoch` with this worker's options, empty answers included;
  // a walk over metadata, no data are read. Throws Error (usage) if there is no end
  // within 2^44 samples.
  std::uint64_t num_minibatches(std::uint64_t epoch = 0) const;
  const Source& source() const noexcept;  // the joined corpus, or the mixture's one after the other
  std::shared_ptr<const Source> shared_source() const noexcept;  // the same, for whoever outlives the reader
  const ReaderOptions& options() const noexcept;
  std::string key_text(std::uint64_t key) const;

  // The next minibatch that has data; nothing at the end of the epoch (call
  // begin_epoch() to go on). Epochs: the first call begins epoch `start_epoch`.
  std::optional<Minibatch> next();
  // The same into `out`, whose memory is used again; false instead of nothing.
  bool next(Minibatch& out);

  // The next answer as the reference gives it, also those without data; false
  // when the run is over. After an answer with end_of_epoch the next epoch
  // begins by itself.
  bool read(Minibatch& out);

  // Waits until next(out) has its answer ready, for at most this long; false if it has
  // not. For callers who must look at signals meanwhile. Where nothing is prefetched it makes
  // the answer, however long that takes. The memory of `out` is used as by next(out): its data
  // are gone then.
  bool wait(std::chrono::milliseconds most, Minibatch& out);
  // Whether next() and read() will give a minibatch with data, or the epoch's last answer,
  // at once: without work, waiting or a lock. Small ones come several at a time, and this
  // is true of those behind the first.
  bool at_hand() const noexcept;

  // The answer last handed out, by next() or read(), counts as not handed out: it is the next one again. For callers
  // who were interrupted before it came to whom it was for. Does nothing where the reader has been moved since, or has
  // handed out none.
  void take_back();

  // The next answer is the first of this epoch. Behind the end of the epoch before, the run
  // goes on as with read(); any other epoch begins as in a reader of its own.
  void begin_epoch(std::uint64_t epoch);

  // From the next minibatch on. What is so already changes nothing.
  void set_workers(std::uint64_t workers, std::uint64_t rank);
  void set_minibatch_size(std::uint64_t size);

  // Half a KiB of JSON, with truncated packing some 15 bytes more for each row, that names the
  // place behind the minibatch last handed out. restore() throws Error (kind state) if it belongs to other data
  // or other options.
  std::string state() const;
  void restore(std::string_view state);

  // Minibatches of the current epoch from the next on, planned without data: up to `minibatches`, and none behind the
  // end of the epoch. Of an epoch that has ended: those of the next one (Driver::epochs).
  std::vector<BatchPlan> plan(std::uint64_t minibatches) const;
  // The same one by one, each gone behind `each`.
  void plan(std::uint64_t minibatches, const std::function<void(const BatchPlan&)>& each) const;
  // How many minibatches with data next() will still give in the current epoch (of
  // an ended one: none), as far as can be planned without data; ~0 if there is no end
  // within 2^44 samples.
  std::uint64_t remaining() const;

  // Bytes of chunks: the window needs at most so many, as the files have them; held
  // now; and the most that was held.
  std::uint64_t memory_needed() const noexcept;
  std::uint64_t memory_held() const noexcept;
  std::uint64_t memory_peak() const noexcept;

  // Over the run up to the minibatch last handed out, restored states included:
  // sequences left out as options ask (long_sequence, last_minibatch, what waits in
  // truncated rows when the minibatch size changes; with Shard::even when the number of
  // rows does, and of all workers), sequences left out because they are damaged (this
  // worker's; those of all workers with truncated packing and Shard::even), and what
  // bucketing saves.
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
