// SPDX-License-Identifier: MIT
//
// A saved reader: one line of JSON that holds a place in the stream and what it
// belongs to (docs/reference/formats/state.md).
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "reader/epoch_table.h"
#include "reader/plan.h"

namespace batchfeed::reader {

std::string write_state(const Mark& mark, std::uint64_t data, const ReaderOptions& options);

// Throws Error(state): damaged, of a newer version, other data, or an option
// that differs (named). Limits::state_bytes bounds the text.
Mark read_state(std::string_view text, std::uint64_t data, const ReaderOptions& options, const Limits& limits);

// Throws Error(state) where no run over a corpus of so many samples comes to such a place.
void check_place(const Mark& mark, const EpochTable& epochs, std::uint64_t sweep_samples, const ReaderOptions& options);

}  // namespace batchfeed::reader
