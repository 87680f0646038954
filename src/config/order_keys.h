// SPDX-License-Identifier: MIT
//
// Keys of order and chunks that several reader types share.
#pragma once

#include <cstdint>

#include "config/binder.h"

namespace batchfeed::config {

// `chunkSizeInBytes`, at least 1.
std::uint64_t chunk_bytes(Binder& binder, const Section& section, std::uint64_t otherwise, Reach reach);

// randomize, randomizationWindow, sampleBasedRandomizationWindow and
// randomizationSeed of the text and binary readers. `window` is the default in chunks.
void bind_old_order(Binder& binder, const Section& reader, std::uint64_t window, OrderOptions& order);

// Checks the form of the same keys where they have no effect.
void check_ignored_order_keys(Binder& binder, const Section& section);

// What the layer above every reader handles: `prefetch`, `verbosity` (checked only), and sharding by chunks.
void bind_common(Binder& binder, const Section& reader, Setup& setup);

}  // namespace batchfeed::config
