// SPDX-License-Identifier: MIT
//
// One sequence after the other as text: for people, for programs, or as a corpus.
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

// ,"file":...,"lines":[first,last]; null where unknown.
void append_place(const Place& place, Text& out);

class SequenceText {
 public:
  virtual ~SequenceText() = default;
  // Behind what `out` holds. Throws Error for what the form cannot say.
  virtual void append(const Chunk& chunk, std::uint32_t number, const SequenceInfo& sequence, std::string& out) = 0;
};

// view: place, key and the beginning of each stream, clipped to the terminal; jsonl:
// one object a sequence (docs/reference/cli.md); ctf: text that reads back. The
// source must outlive it.
std::unique_ptr<SequenceText> sequence_text(const std::string& format, const Source& source, const Console& console,
                                            bool ids);

}  // namespace batchfeed::cli
