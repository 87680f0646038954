// SPDX-License-Identifier: MIT
//
// Columns into text: the inverse of reading, for `convert`.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed::ctf {

// Thread-safe; appends to the caller's text.
class Writer {
 public:
  // `ids`: in front of every line; without them each sequence must be one row. Throws Error(config) for names that the
  // format cannot hold.
  Writer(std::vector<StreamInfo> streams, bool ids);

  // One sequence: row of `chunk`. `key` as Source::key_text gives it. Every
  // number is the shortest that reads back to the same bits. Throws Error(format)
  // for what the format cannot say: nan, ids with blanks, several rows without ids.
  void sequence(const Chunk& chunk, std::uint32_t row, std::string_view key, std::string& out) const;

 private:
  std::vector<StreamInfo> streams_;
  bool ids_;
};

// What a Writer threw, with the file that was to be written and the sequence at fault.
Fault of_sequence(Fault fault, const std::string& file, const std::string& sequence);

}  // namespace batchfeed::ctf
