// SPDX-License-Identifier: MIT
//
// All that a source delivers, as one line of text: "ERRORS -> key(length):
// A=(1 2)(3 4) B={1:1}; ..." or "FAIL id". For tests and fuzzing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/ctf/slow_model_testing.h"
#include "formats/ctf/source.h"

namespace batchfeed::ctf {

inline std::string print_value(const Column& column, std::size_t i) {
  return model::print(column.element == Element::f32 ? static_cast<double>(column.as<float>()[i])
                                                     : column.as<double>()[i]);
}

inline void print_sample(const Column& c, std::uint32_t row, std::uint32_t i, std::string& out) {
  const std::size_t n = c.first_sample[row] + i;
  if (c.storage == Storage::dense) {
    out += '(';
    for (std::size_t v = 0; v < c.dim; ++v) {
      out += (v == 0 ? "" : " ") + print_value(c, static_cast<std::size_t>(c.begin[row] + i * c.step) + v);
    }
    out += ')';
    return;
  }
  out += '{';
  for (std::uint32_t v = c.first_value[n]; v < c.first_value[n + 1]; ++v) {
    out += (v == c.first_value[n] ? "" : " ") + std::to_string(c.indices[v]) + ':' + print_value(c, v);
  }
  out += '}';
}

inline std::string read_all(const CtfOptions& options, const std::string& path, const OpenContext& context,
                            std::size_t block) {
  try {
    const CtfSource source(options, path, context, {.block = block, .range = block});
    std::string out;
    Chunk chunk;
    std::vector<SequenceInfo> table;
    const bool several = source.chunks().size() > 1;
    for (std::uint32_t k = 0; k < source.chunks().size(); ++k) {
      source.read(k, chunk);
      source.sequences(k, table);
      if (several) out += (out.empty() ? "{chunk " : " {chunk ") + std::to_string(k) + "} ";
      std::uint64_t samples = 0;
      for (std::size_t r = 0; r < table.size(); ++r) {
        out += (r == 0 ? "" : "; ") + source.key_text(table[r].key) + '(' + std::to_string(table[r].samples) + "):";
        samples += table[r].samples;
        if (chunk.is_invalid(table[r].row)) {
          out += " DROPPED";
          continue;
        }
        for (std::size_t s = 0; s < chunk.columns.size(); ++s) {
          out += ' ' + source.streams()[s].name + '=';
          const std::uint32_t n = chunk.columns[s].samples(table[r].row);
          for (std::uint32_t i = 0; i < n; ++i) print_sample(chunk.columns[s], table[r].row, i, out);
        }
      }
      if (samples != source.chunks()[k].samples || table.size() != source.chunks()[k].sequences)
        out += " (CHUNK SIZES DIFFER)";
    }
    return std::to_string(source.errors()) + " -> " + out;
  } catch (const Error& error) {
    return "FAIL " + error.fault().id;
  }
}

}  // namespace batchfeed::ctf
