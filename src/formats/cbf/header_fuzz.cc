// SPDX-License-Identifier: MIT
//
// Headers and chunk tables, built from the bytes: what is accepted lies inside
// the file, in order, and within every bound the chunks rely on.
#include <batchfeed/error.h>

#include <string>

#include "formats/cbf/fuzz_build_testing.h"
#include "support/fuzz_file.h"

namespace {

using batchfeed::testing::require;

void check(const batchfeed::cbf::Header& header, std::uint64_t size) {
  require(!header.streams.empty());
  for (const auto& s : header.streams) {
    require(!s.name.empty() && s.dim >= 1);
    require(s.storage == batchfeed::Storage::dense || s.dim <= 0x7FFFFFFF);
  }
  std::uint64_t end = batchfeed::cbf::kPrefixBytes;
  for (const auto& chunk : header.chunks) {
    require(chunk.begin >= end && chunk.begin <= chunk.end && chunk.end <= size);
    require(chunk.sequences <= (chunk.end - chunk.begin) / 4);
    end = chunk.begin;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed::cbf;
  fuzz::Draw draw(data, size);
  fuzz::Table table;
  std::string file = fuzz::prefix();
  for (std::uint32_t i = 1 + draw.below(4); i > 0; --i) {
    FileStream s;
    for (std::uint32_t n = 1 + draw.below(4); n > 0; --n) s.name += static_cast<char>(draw.byte());
    s.storage = draw.below(2) == 0 ? batchfeed::Storage::dense : batchfeed::Storage::sparse;
    s.element = draw.below(2) == 0 ? batchfeed::Element::f32 : batchfeed::Element::f64;
    s.dim = 1 + draw.byte();
    table.streams.push_back(std::move(s));
  }
  for (std::uint32_t i = draw.below(6); i > 0; --i) {
    FileChunk row;
    const std::uint32_t bytes = draw.byte();
    row.begin = file.size() + static_cast<std::uint64_t>(static_cast<std::int32_t>(draw.field(0)));
    row.sequences = draw.field(bytes / 8);
    row.samples = draw.field(bytes / 8);
    table.rows.push_back(row);
    file.append(bytes, '\1');
  }
  fuzz::finish(file, table, &draw);
  const batchfeed::testing::MemoryFile memory(file);
  const batchfeed::io::File opened(memory.path());
  batchfeed::FaultSink sink(memory.path(), 0, 1, nullptr);
  try {
    check(read_header(opened, {}, sink), file.size());
  } catch (const batchfeed::Error& error) {
    require(error.fault().kind != batchfeed::FaultKind::internal && error.fault().at.byte <= file.size());
  }
  return 0;
}
