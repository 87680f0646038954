// SPDX-License-Identifier: MIT
//
// Refuses options that cannot work when a reader is opened.
#pragma once

#include <batchfeed/limits.h>
#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace batchfeed::reader {

// Throws Error (usage) with the field, its value and the rule. `corpora`: how many
// there are to be mixed; 1 without a mixture.
void check_options(const ReaderOptions& options, std::size_t corpora);

// Throws Error (limit) where minibatches of truncated packing would be mostly gaps: their rows are as long as the
// options say, however few samples there are. Or where a minibatch that spans sweeps would be the corpus many times
// over. `samples`: of a sweep.
void check_gaps(const ReaderOptions& options, std::uint64_t samples, const Limits& limits);

// Warns of what is allowed but probably not meant, as some workers go without data: minibatches too small for
// Shard::even, fewer chunks than workers for Shard::chunk. The counts are those of a sweep.
std::optional<Notice> warn_of_starving(const ReaderOptions& options, std::uint64_t chunks, std::uint64_t sequences,
                                       std::uint64_t samples);

// May a minibatch span two sweeps.
bool crosses_sweeps(const ReaderOptions& options) noexcept;

}  // namespace batchfeed::reader
