// SPDX-License-Identifier: MIT
//
// The CNTK text format: one line is a row of samples "|name values", rows with
// one id are a sequence (docs/reference/formats/ctf.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <memory>
#include <string>

#include "io/file.h"
#include "model/open_context.h"

namespace batchfeed::ctf {

// Opens one file (shards are put together above). Throws Error.
std::unique_ptr<Source> open(const CtfOptions& options, const std::string& file, const OpenContext& context);

// Makes sure that there is an index cache, as `batchfeed index` does.
IndexBuild build_index(const CtfOptions& options, const std::string& file, const OpenContext& context,
                       bool rebuild = false);
// Looks whether there is one that fits; builds and writes nothing.
IndexBuild find_index(const CtfOptions& options, const std::string& file, const OpenContext& context);

// Guesses the streams of a corpus from its first `bytes`, on several threads, which
// makes no difference to the guess.
struct InferTuning {
  unsigned threads = 0;                                // at most; 0: one a core
  std::uint64_t least_bytes = std::uint64_t{8} << 20;  // for each of them
};
Inferred infer(const io::File& file, std::uint64_t bytes = ~0ull, const Progress& progress = {},
               const Limits& limits = {}, const InferTuning& tuning = {});

// Checks text from a descriptor while it passes; memory holds a line or a
// little more. Every fault goes to `report`, up to check.max_faults.
CheckResult check_stream(int descriptor, const std::string& name, const CtfOptions& options, const Limits& limits,
                         const CheckOptions& check, const Report& report, KeyMode keys = KeyMode::numeric);

}  // namespace batchfeed::ctf
