// SPDX-License-Identifier: MIT
//
// Objects of Kaldi archives as bytes; archives and lists in a folder of their own, opened and read.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/kaldi/kaldi.h"
#include "support/each_sequence.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::kaldi {

using Rows = std::vector<std::vector<double>>;

inline const std::string kBinary("\0B", 2);
inline std::string f32(float v) { return batchfeed::testing::le32(std::bit_cast<std::uint32_t>(v)); }
inline std::string f64(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  return batchfeed::testing::le32(static_cast<std::uint32_t>(bits)) +
         batchfeed::testing::le32(static_cast<std::uint32_t>(bits >> 32));
}
inline std::string size(std::uint32_t n) { return "\4" + batchfeed::testing::le32(n); }
inline std::string matrix(std::uint32_t rows, std::uint32_t cols, const std::vector<float>& values) {
  std::string out = kBinary + "FM " + size(rows) + size(cols);
  for (const float v : values) out += f32(v);
  return out;
}
inline std::string integers(const std::vector<std::uint32_t>& values) {
  std::string out = kBinary + size(static_cast<std::uint32_t>(values.size()));
  for (const std::uint32_t v : values) out += size(v);
  return out;
}

class Kaldi : public ::testing::Test {
 protected:
  std::unique_ptr<Source> open(const std::string& name, const std::string& content) {
    options_.name = "x";
    options_.files = {folder_.write(name, content)};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(mode_);
    context.limits = limits_;
    context.check = check_;
    context.report = [this](const Notice& n) { reported_.push_back(n.fault.id); };
    return kaldi::open(options_, context);
  }
  std::map<std::string, Rows> read(const std::string& name, const std::string& content) {
    return read(*open(name, content));
  }
  std::map<std::string, Rows> read(const Source& source) {
    std::map<std::string, Rows> out;
    ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
      if (chunk.is_invalid(s.row)) return;
      const Column& column = chunk.columns[0];
      Rows& rows = out[source.key_text(s.key)];
      for (std::uint32_t i = 0; i < s.samples; ++i) {
        std::vector<double>& row = rows.emplace_back();
        if (column.storage == Storage::sparse) {
          row.push_back(column.indices[column.first_value[column.first_sample[s.row] + i]]);
          continue;
        }
        const std::size_t at = static_cast<std::size_t>(column.begin[s.row] + i * column.step);
        for (std::size_t k = 0; k < column.dim; ++k)
          row.push_back(column.element == Element::f32 ? double{column.as<float>()[at + k]}
                                                       : column.as<double>()[at + k]);
      }
    });
    return out;
  }
  std::string fault(const std::string& name, const std::string& content) {
    try {
      read(name, content);
    } catch (const Error& e) {
      return e.fault().id;
    }
    return "accepted";
  }

  batchfeed::testing::ScratchFolder folder_;
  KaldiOptions options_;
  Limits limits_;
  KeyMode mode_ = KeyMode::text;
  bool check_ = false;
  std::vector<std::string> reported_;
};

}  // namespace batchfeed::kaldi
