// SPDX-License-Identifier: MIT
#include <batchfeed/source.h>

#include <set>
#include <utility>

#include "base/hash.h"

namespace batchfeed {

void Column::reset(const StreamInfo& stream) {
  storage = stream.storage;
  element = stream.element;
  dim = stream.dim;
  step = stream.dim;
  first_sample.clear();
  first_sample.push_back(0);
  begin.clear();
  first_value.clear();
  first_value.push_back(0);
  values.clear();
  indices.clear();
}

void Chunk::reset(const std::vector<StreamInfo>& streams) {
  columns.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) columns[i].reset(streams[i]);
  invalid.clear();
}

std::uint64_t Chunk::memory() const noexcept {
  std::uint64_t bytes = invalid.capacity();
  for (const Column& c : columns) {
    bytes += c.first_sample.capacity() * sizeof(std::uint32_t) + c.begin.capacity() * sizeof(std::uint64_t) +
             c.first_value.capacity() * sizeof(std::uint32_t) + c.values.capacity() +
             c.indices.capacity() * sizeof(std::int32_t);
  }
  return bytes;
}

Place Source::place(std::uint32_t, std::uint32_t) const { return {}; }

std::vector<Place> Source::places(std::uint32_t chunk, std::uint32_t row) const { return {place(chunk, row)}; }

std::vector<std::string> Source::files() const {
  std::set<std::string> all;
  for (std::uint32_t c = 0; c < chunks().size(); ++c) {
    for (std::uint32_t row = 0; row < chunks()[c].sequences; ++row) {
      for (Place& place : places(c, row)) all.insert(std::move(place.file));
    }
  }
  all.erase("");
  return {all.begin(), all.end()};
}

std::uint64_t Source::fingerprint() const {
  Fingerprint print;
  for (const StreamInfo& s : streams()) {
    print.add(s.name)
        .add(s.dim)
        .add(static_cast<std::uint64_t>(s.storage))
        .add(static_cast<std::uint64_t>(s.element))
        .add(s.defines_mb_size ? 1 : 0);
  }
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < chunks().size(); ++c) {
    sequences(c, table);
    print.add(table.size());
    for (const SequenceInfo& s : table) print.add(s.key).add((std::uint64_t{s.row} << 32) | s.samples);
  }
  return print.value();
}

}  // namespace batchfeed
