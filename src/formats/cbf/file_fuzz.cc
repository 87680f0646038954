// SPDX-License-Identifier: MIT
//
// Bytes are a file: opened, every chunk read, once as in training and once as a
// check does; and once more row by row, which gives the same. The first byte chooses whether what guards the door
// (magics, version, offset of the header) is put right before, so that mutations get past it.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "formats/cbf/both_ways_testing.h"
#include "formats/cbf/cbf.h"
#include "support/fuzz_file.h"

namespace {

using namespace batchfeed;
using batchfeed::testing::require;

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

// A check goes on behind indices that do not fit; what is read for training is what source.h says.
void read_all(const std::string& path, bool check) {
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  context.check = check;
  context.limits.implied_samples = 1u << 16;
  try {
    const std::shared_ptr<const Source> file = cbf::open({}, path, context);
    const std::shared_ptr<const Source> source = check ? file : checked(file);
    Chunk chunk;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
      try {
        source->read(c, chunk);
      } catch (const Error& error) {
        testing::check_fault(error);
      }
    }
  } catch (const Error& error) {
    testing::check_fault(error);
  }
}

// The same rows in front of the first chunk that cannot be read, and the same faults; a file
// made to be read in two ways is refused by one of them.
void compare_parts(const std::string& path) {
  Limits limits;
  limits.implied_samples = 1u << 16;
  const auto whole = cbf::testing::read_all(path, {}, 0, limits);
  const auto parts = cbf::testing::read_all(path, {}, 1, limits);
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
  const testing::MemoryFile file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  read_all(file.path(), false);
  read_all(file.path(), true);
  compare_parts(file.path());
  return 0;
}
