// SPDX-License-Identifier: MIT
//
// Bytes are a file: opened, every chunk read, once as in training and once as a
// check does; and once more row by row, which gives the same. The first byte chooses whether what guards the door
// (magics, version, offset of the header) is put right before, so that mutations get past it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "formats/cbf/both_ways.h"
#include "formats/cbf/cbf.h"

namespace {

using batchfeed::Chunk;
using batchfeed::Column;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
void set(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// The header is where its magic stands last; if nowhere, behind the first `hint` bytes.
void repair(std::vector<std::uint8_t>& bytes, std::size_t hint) {
  constexpr std::uint64_t kMagic = 0x636e746b5f62696e;
  if (bytes.size() < 36) return;
  set(bytes, 0, kMagic);
  set(bytes, 8, std::uint32_t{1});
  std::size_t header = 0;
  for (std::size_t at = bytes.size() - 24; at >= 12; --at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word == kMagic) {
      header = at;
      break;
    }
  }
  if (header == 0) {
    header = 12 + hint % (bytes.size() - 35);
    set(bytes, header, kMagic);
  }
  set(bytes, bytes.size() - 8, static_cast<std::uint64_t>(header));
}

// What every reader of a chunk relies on.
void check_column(const batchfeed::StreamInfo& stream, const Column& column, std::size_t rows) {
  require(column.first_sample.size() == rows + 1 && column.first_sample[0] == 0);
  const std::size_t values = column.values.size() / batchfeed::size_of(column.element);
  for (std::size_t r = 0; r < rows; ++r) {
    require(column.first_sample[r] <= column.first_sample[r + 1]);
    if (stream.storage == batchfeed::Storage::dense) {
      const std::uint64_t n = column.first_sample[r + 1] - column.first_sample[r];
      require(column.begin[r] <= values && n * stream.dim <= values - column.begin[r]);
    }
  }
  if (stream.storage == batchfeed::Storage::dense) return;
  require(column.first_value.size() == std::size_t{column.first_sample[rows]} + 1 && column.first_value[0] == 0);
  for (std::size_t n = 0; n + 1 < column.first_value.size(); ++n)
    require(column.first_value[n] <= column.first_value[n + 1]);
  require(column.first_value.back() == column.indices.size() && values == column.indices.size());
}

void read_all(const std::string& path, bool check) {
  batchfeed::OpenContext context;
  context.keys = std::make_shared<batchfeed::KeyTable>(batchfeed::KeyMode::numeric);
  context.check = check;
  context.limits.implied_samples = 1u << 16;
  try {
    const auto source = batchfeed::cbf::open({}, path, context);
    Chunk chunk;
    std::vector<batchfeed::SequenceInfo> table;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
      source->sequences(c, table);
      require(table.size() == source->chunks()[c].sequences);
      std::uint64_t samples = 0;
      for (const auto& s : table) samples += s.samples;
      require(samples == source->chunks()[c].samples);
      try {
        source->read(c, chunk);
      } catch (const batchfeed::Error& error) {
        require(error.fault().kind != batchfeed::FaultKind::internal &&
                error.fault().kind != batchfeed::FaultKind::stale);
        continue;
      }
      const std::size_t rows = chunk.columns[0].first_sample.size() - 1;
      for (const auto& s : table) require(s.row < rows && s.samples >= 1);
      for (std::size_t i = 0; i < chunk.columns.size(); ++i) {
        check_column(source->streams()[i], chunk.columns[i], rows);
        if (check) continue;
        for (const std::int32_t index : chunk.columns[i].indices)
          require(index >= 0 && static_cast<std::uint64_t>(index) < source->streams()[i].dim);
      }
    }
  } catch (const batchfeed::Error& error) {
    require(error.fault().kind != batchfeed::FaultKind::internal && error.fault().kind != batchfeed::FaultKind::stale);
  }
}

// The same rows in front of the first chunk that cannot be read, and the same faults; a file
// made to be read in two ways is refused by one of them.
void compare_parts(const std::string& path) {
  batchfeed::Limits limits;
  limits.implied_samples = 1u << 16;
  const auto whole = batchfeed::cbf::testing::read_all(path, {}, 0, limits);
  const auto parts = batchfeed::cbf::testing::read_all(path, {}, 1, limits);
  if (parts.faults.find(" begins here; byte ") != std::string::npos) return;
  require(parts.faults == whole.faults && parts.chunks.size() == whole.chunks.size());
  for (std::size_t c = 0; c < whole.chunks.size() && !whole.chunks[c].empty(); ++c)
    require(parts.chunks[c] == whole.chunks[c]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) repair(bytes, data[0]);
  const int fd = ::memfd_create("cbf", 0);
  require(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  read_all(path, false);
  read_all(path, true);
  compare_parts(path);
  ::close(fd);
  return 0;
}
