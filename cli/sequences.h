// SPDX-License-Identifier: MIT
//
// Writes one sequence after the other as text: for people, for programs, or as a corpus.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>

#include "console.h"
#include "format.h"
#include "numbers.h"

namespace batchfeed::cli {

// "train.ctf:17-19 (bytes 412-530)"; "unknown place" where a source cannot say.
std::string place_text(const Place& place, bool with_bytes = true);

// Appends ,"file":...,"lines":[first,last]; null where unknown.
void append_place(const Place& place, Text& out);

class SequenceText {
 public:
  virtual ~SequenceText() = default;
  // Appends a sequence to `out`. Throws Error if the form cannot hold it.
  virtual void append(const Chunk& chunk, std::uint32_t number, const SequenceInfo& sequence, std::string& out) = 0;
};

// `format`: "view" (place, key and the beginning of each stream, clipped to the terminal),
// "jsonl" (one object a sequence, docs/reference/cli.md) or "ctf" (text that can be read
// back; `ids`: with sequence ids). The source must outlive the result.
std::unique_ptr<SequenceText> sequence_text(const std::string& format, const Source& source, const Console& console,
                                            bool ids);

}  // namespace batchfeed::cli
