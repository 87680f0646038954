// SPDX-License-Identifier: MIT
//
// HTK feature archives as a source (docs/reference/formats/htk.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/open_context.h"

namespace batchfeed::htk {

// What the headers of all files have in common, and how many files there are.
struct Facts {
  std::string kind;  // "FBANK_D_A"
  std::uint32_t dim = 0;
  std::uint32_t period = 0;  // of a frame, in 100 ns
  std::uint64_t files = 0;
};

// Reads the scp files and the header of every archive they name. Throws Error.
std::unique_ptr<Source> open(const HtkOptions& options, const OpenContext& context, Facts* facts = nullptr);

// Of a source that open() gave: utterances of its lists that it left out for their length.
std::uint64_t too_long(const Source& source);

// Of a source that open() gave: leaves out sequences and cuts the others into chunks anew. `gone`: their numbers,
// counted over all chunks, ascending. No other call to the source may run meanwhile.
void leave_out(Source& source, const std::vector<std::uint64_t>& gone);

}  // namespace batchfeed::htk
