// SPDX-License-Identifier: MIT
//
// For tests: what a source gives in whole chunks and in pieces of a few rows, as text.
#pragma once

#include <batchfeed/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/cbf/cbf.h"
#include "model/pieces.h"

namespace batchfeed::cbf::testing {

// All that a chunk says of its sequences, under the keys of the table.
inline std::string text_of(const Source& source, std::uint32_t c, const Chunk& chunk) {
  std::string out;
  std::vector<SequenceInfo> table;
  source.sequences(c, table);
  for (const SequenceInfo& s : table) {
    out += std::to_string(s.key) + " of " + std::to_string(s.samples) + ':';
    for (const Column& column : chunk.columns) {
      const std::size_t width = size_of(column.element);
      out += " |" + std::to_string(column.samples(s.row)) + ' ';
      for (std::uint32_t n = 0; n < column.samples(s.row); ++n) {
        const std::uint32_t k = column.first_sample[s.row] + n;
        const bool dense = column.storage == Storage::dense;
        const std::uint64_t first = dense ? column.begin[s.row] + n * column.step : column.first_value[k];
        const std::uint64_t count = dense ? column.dim : column.first_value[k + 1] - first;
        out.append(reinterpret_cast<const char*>(column.values.data() + first * width), count * width);
        for (std::uint64_t i = 0; i < (dense ? 0 : count); ++i) out += std::to_string(column.indices[first + i]) + ' ';
        out += ';';
      }
    }
    out += '\n';
  }
  return out;
}

struct Given {
  std::vector<std::string> chunks;  // of those that could be read, in order
  std::string faults;               // notices, summed up, and the one that ended it
  bool cut = false;
};

// `bytes`: of a piece; 0: whole chunks. `skip`: chunks, or pieces, that are not read.
inline Given read_all(const std::string& path, CbfOptions options, std::uint64_t bytes, const Limits& limits = {},
                      std::uint32_t skip = 0) {
  Given out;
  OpenContext context;
  options.trace_level = 2;
  context.report = [&](const Notice& n) { out.faults += n.fault.text() + '\n'; };
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  context.limits = limits;
  try {
    const std::shared_ptr<const Source> file = checked(open(options, path, context));
    const auto pieces = bytes == 0 ? nullptr : std::make_shared<const Pieces>(file, bytes);
    const Source& source = pieces ? *pieces : *file;
    out.cut = source.chunks().size() > file->chunks().size();
    out.chunks.resize(file->chunks().size());
    try {
      Chunk chunk;
      for (std::uint32_t c = skip; c < source.chunks().size(); ++c) {
        source.read(c, chunk);
        out.chunks[pieces ? pieces->part(c).chunk : c] += text_of(source, c, chunk);
      }
    } catch (const Error& e) {
      out.faults += e.fault().text() + '\n';
    }
    for (const Notice& n : source.notices()) out.faults += n.fault.text() + '\n';
  } catch (const Error& e) {
    out.faults += e.fault().text() + '\n';
  }
  return out;
}

}  // namespace batchfeed::cbf::testing
