// SPDX-License-Identifier: MIT
#include "reader/epoch_table.h"

#include <batchfeed/error.h>

#include <string>

#include "base/counted.h"
#include "base/saturate.h"

namespace batchfeed::reader {

EpochTable::EpochTable(const ReaderOptions& options, std::uint64_t sweep_samples) {
  const bool sweep = options.epoch_sweeps == 0 && (options.epoch_samples == 0 || options.epoch_samples == kWholeSet);
  const std::uint64_t size = sweep                       ? sweep_samples
                             : options.epoch_sweeps != 0 ? mul_sat(options.epoch_sweeps, sweep_samples)
                                                         : options.epoch_samples;
  if (!options.full_minibatches) {
    sizes_ = {std::min(size, kEndless)};
    return;
  }
  // HTKMLFReader with minibatchMode = full: epochs of whole minibatches, which may have another size in each.
  const std::size_t epochs = options.driver == ReaderOptions::Driver::epochs ? options.minibatch_size.size() : 1;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    const std::uint64_t minibatch = options.minibatch_size[epoch];
    const std::uint64_t rest = sweep_samples >= minibatch ? sweep_samples % minibatch : 0;
    const std::uint64_t whole = sweep_samples > minibatch ? sweep_samples - rest : sweep_samples;
    sizes_.push_back(std::min(sweep ? whole : add_sat(size, mul_sat(rest, (size - 1) / whole)), kEndless));
  }
}

std::uint64_t EpochTable::begin(std::uint64_t epoch) const {
  if (!reaches(epoch)) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.epoch-too-far",
                      .what = "epoch " + std::to_string(epoch) + " of " + counted(size(epoch), "sample") +
                              " ends beyond the last position there is, 2^63 - 1",
                      .hint = "name an earlier epoch"});
  }
  return epoch * size(epoch);
}

std::uint64_t minibatch_size(const ReaderOptions& options, std::uint64_t epoch, std::uint64_t index) {
  if (options.one_sequence) return 1;  // sample, to which a sequence of any length is added alone
  return by_epoch(options.minibatch_size, options.driver == ReaderOptions::Driver::epochs ? epoch : index);
}

bool is_resized(const ReaderOptions& options, const Mark& mark) {
  return options.driver == ReaderOptions::Driver::timeline && mark.index != 0 && !mark.ended &&
         minibatch_size(options, mark.epoch, mark.index) != minibatch_size(options, mark.epoch, mark.index - 1);
}

void number_anew(const ReaderOptions& options, std::uint64_t sweep_samples, Mark& mark) {
  if (options.order.kind != OrderKind::file || options.shard != Shard::chunk || !mark.begun || mark.ended) return;
  mark.past.renumbered = 1 + mark.position / sweep_samples;
}

}  // namespace batchfeed::reader
