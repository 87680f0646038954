// SPDX-License-Identifier: MIT
//
// A small corpus, sequences of which may be damaged, and options of every kind out of the
// bytes. Every key has its own values, and none is of a damaged sequence; threads do not
// change the stream, a state goes on exactly where it was taken, and where nothing is asked
// to be left out all workers together give every sample once.
#include <batchfeed/reader.h>

#include <map>
#include <optional>

#include "support/batch_hash.h"
#include "support/draw.h"
#include "support/fuzz_file.h"
#include "support/memory_source.h"

namespace {

using namespace batchfeed;
using batchfeed::testing::Draw;
using batchfeed::testing::require;

std::vector<std::vector<std::uint32_t>> corpus(Draw& draw) {
  std::vector<std::vector<std::uint32_t>> chunks(1 + draw.below(6));
  for (auto& lengths : chunks) {
    for (std::uint32_t n = 1 + draw.below(7); n > 0; --n) lengths.push_back(1 + draw.below(9));
  }
  return chunks;
}

ReaderOptions options(Draw& draw) {
  ReaderOptions o;
  o.order.kind = static_cast<OrderKind>(draw.below(3));
  o.order.window = 1 + draw.below(20);
  o.order.window_in_samples = draw.below(3) == 0;
  o.order.seed = draw.below(5);
  o.pack.kind = static_cast<Packing>(draw.below(3));
  o.pack.truncation_length = 1 + draw.below(6);
  o.pack.right_splice = draw.below(3) % o.pack.truncation_length;
  o.shard = static_cast<Shard>(draw.below(2));
  o.workers = 1 + draw.below(3);
  o.minibatch_size = {1 + draw.below(40)};
  if (draw.below(4) == 0) o.minibatch_size.push_back(1 + draw.below(40));
  if (draw.below(3) == 0) o.size_unit = static_cast<SizeUnit>(draw.below(3));
  if (draw.below(3) == 0) o.epoch_samples = draw.below(200);
  if (draw.below(4) == 0) o.epoch_sweeps = draw.below(3);
  o.start_epoch = draw.below(5) == 4 ? draw.below(3) : 0;
  o.driver = static_cast<ReaderOptions::Driver>(draw.below(2));
  if (draw.below(3) == 0) o.cross_sweeps = draw.below(2) == 1;
  if (draw.below(3) == 0) o.long_sequence = static_cast<LongSequence>(draw.below(4));
  if (draw.below(3) == 0) o.last_minibatch = static_cast<LastMinibatch>(draw.below(3));
  if (draw.below(4) == 0) o.bucket_minibatches = draw.below(5);
  o.local_timeline = draw.below(4) != 0;
  return o;
}

constexpr std::size_t kMost = 30;  // minibatches looked at

// A MemorySource tells by each value which sample of which key it is.
void expect_own_values(const Minibatch& batch, const reader::MemorySource& source) {
  for (const StreamBatch& stream : batch.streams) {
    const float* const values = stream.as<float>();
    for (std::size_t e = 0; e < stream.layout.sequences; ++e) {
      const std::uint64_t key = batch.keys.at(stream.layout.entries.at(e).sequence);
      require(!source.is_damaged(key));
      for (std::int64_t i = stream.offsets[e]; i < stream.offsets[e + 1]; ++i) {
        require(static_cast<std::uint64_t>(values[i]) / 100 == key);
        require(i == stream.offsets[e] || values[i] == values[i - 1] + 1);
      }
    }
  }
}

struct Run {
  std::vector<std::uint64_t> hashes;
  std::vector<std::string> states;                 // after each
  std::map<std::uint64_t, std::uint64_t> samples;  // of the first epoch, by value
  bool whole_epoch = false;
  std::string fault;
};

void go_on(Reader& reader, const reader::MemorySource& source, Run& run, bool with_states) {
  Minibatch batch;
  bool first = true;
  try {
    while (run.hashes.size() < kMost && reader.read(batch)) {
      expect_own_values(batch, source);
      run.hashes.push_back(testing::hash_of(batch));
      if (with_states) run.states.push_back(reader.state());
      for (const StreamBatch& stream : batch.streams) {
        for (std::uint64_t i = 0; first && i < stream.samples(); ++i)
          ++run.samples[static_cast<std::uint64_t>(stream.as<float>()[i])];
      }
      if (batch.end_of_epoch) {
        run.whole_epoch = run.whole_epoch || first;
        first = false;
      }
    }
  } catch (const Error& error) {
    testing::check_fault(error);
    run.fault = error.fault().id;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 200) return 0;
  Draw draw(data, size);
  const auto chunks = corpus(draw);
  ReaderOptions o = options(draw);
  o.prefetch = false;
  const bool frames = o.pack.kind == Packing::frames;
  const std::uint32_t stop = draw.below(20);
  const bool ahead = draw.below(4) == 0;
  std::optional<std::uint64_t> damaged_key;
  std::uint64_t damaged_below = 0;
  const bool damaged = draw.one_of(3);
  if (damaged) {
    damaged_key = draw.below(20);
    damaged_below = draw.one_of(3) ? draw.below(9) : 0;
    o.max_invalid = draw.one_of(3) ? draw.below(20) : 1000;
  }
  std::map<std::uint64_t, std::uint64_t> all;
  bool whole = true;
  for (o.rank = 0; o.rank < o.workers; ++o.rank) {
    const auto source = std::make_shared<reader::MemorySource>(chunks, frames);
    source->damaged_key = damaged_key;
    source->damaged_below = damaged_below;
    Run plain, threaded, rest;
    std::optional<Reader> one;
    try {
      one.emplace(source, o);
    } catch (const Error& error) {
      require(error.fault().kind == FaultKind::usage);
      return 0;
    }
    go_on(*one, *source, plain, true);
    if (ahead) {  // threads take their time: not always
      o.prefetch = true;
      o.threads = 3;
      Reader three(source, o);
      go_on(three, *source, threaded, false);
      require(plain.hashes == threaded.hashes && plain.fault == threaded.fault);
      o.prefetch = false;
    }
    if (!plain.states.empty()) {
      const std::size_t at = stop % plain.states.size();
      Reader again(source, o);
      again.restore(plain.states[at]);
      rest.hashes.assign(plain.hashes.begin(), plain.hashes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      go_on(again, *source, rest, false);
      require(plain.hashes == rest.hashes && plain.fault == rest.fault);
    }
    whole = whole && plain.whole_epoch && plain.fault.empty();
    for (const auto& [value, n] : plain.samples) all[value] += n;
  }
  const bool nothing_left_out = o.long_sequence == LongSequence::alone || o.long_sequence == LongSequence::split;
  if (!whole || damaged || !nothing_left_out || o.last_minibatch != LastMinibatch::keep || o.pack.right_splice != 0)
    return 0;
  // Another minibatch size is another number of rows of truncated sequences: what waits in them is given up, and
  // counted.
  if (o.pack.kind == Packing::truncated && o.minibatch_size.size() > 1) return 0;
  if (o.epoch_samples != 0 || o.epoch_sweeps > 1 || o.start_epoch != 0) return 0;
  std::uint64_t key = 0, samples = 0;
  for (const auto& lengths : chunks) {
    for (const std::uint32_t n : lengths) {
      for (std::uint32_t i = 0; i < n; ++i) require(all[100 * key + i] == 1);
      ++key;
      samples += n;
    }
  }
  require(all.size() == samples);
  return 0;
}
