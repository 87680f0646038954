// SPDX-License-Identifier: MIT
#include "config/order_keys.h"

#include <algorithm>

namespace batchfeed::config {

std::uint64_t chunk_bytes(Binder& binder, const Section& section, std::uint64_t otherwise, Reach reach) {
  const std::uint64_t bytes = binder.count(section, "chunkSizeInBytes", otherwise, reach);
  binder.attempt([&] {
    if (bytes != 0) return;
    const auto value = section.find("chunkSizeInBytes");
    binder.fail(*value, "bad-value", value->path + ": expected at least 1, found 0", "remove it for the default");
  });
  return std::max<std::uint64_t>(bytes, 1);
}

void bind_old_order(Binder& binder, const Section& reader, std::uint64_t window, OrderOptions& order) {
  order.kind = OrderKind::cntk;
  order.window_in_samples = binder.flag(reader, "sampleBasedRandomizationWindow", false, Reach::surprising);
  const std::optional<bool> randomize = binder.randomize(reader);
  const auto given = binder.maybe_size(reader, "randomizationWindow", Reach::surprising);
  order.seed = binder.size(reader, "randomizationSeed", 0, Reach::surprising);
  order.window = std::min(given.value_or(order.window_in_samples ? kWholeSet : window), kWholeSet);
  if (!given)
    binder.fallback(reader, "randomizationWindow", order.window == kWholeSet ? "everything" : std::to_string(window));
  if (!randomize.value_or(false)) {
    order.kind = OrderKind::file;
  } else if (order.window == 0) {
    order.kind = OrderKind::file;
    if (!given) {
      binder.doc().warn(
          reader.at(), "no-window",
          reader.path() + ": a chunk is larger than 4 GiB, so the default window is 0 chunks and nothing is shuffled",
          "write randomizationWindow, or a smaller chunkSizeInBytes");
    }
  }
  const Command command = command_of(reader);
  if (command.forces_file_order && (command.writes || !reader.has("randomize"))) order.kind = OrderKind::file;
}

// Those that are not there have no defaults that could be shown: the reader's keys decide.
void check_ignored_order_keys(Binder& binder, const Section& section) {
  if (section.has("randomize")) binder.randomize(section);
  binder.maybe_size(section, "randomizationWindow", Reach::own);
  if (section.has("sampleBasedRandomizationWindow"))
    binder.flag(section, "sampleBasedRandomizationWindow", false, Reach::own);
  binder.maybe_size(section, "randomizationSeed", Reach::own);
  if (section.has("keepDataInMemory")) binder.flag(section, "keepDataInMemory", false, Reach::own);
  binder.expect(Binder::Form::integer, section, "verbosity");
}

void bind_common(Binder& binder, const Section& reader, Setup& setup) {
  setup.reader.shard = Shard::chunk;
  setup.reader.prefetch = binder.flag(reader, "prefetch", true);
  binder.expect(Binder::Form::integer, reader, "verbosity");
}

}  // namespace batchfeed::config
