// SPDX-License-Identifier: MIT
//
// Any bytes as a compressed file: either a fault, or every part read is the same slice of the whole.
// Byte 0: codec and limits; byte 1: where the second reading begins.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compressed/unpacked.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed;
  if (size < 2) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 2, size - 2));
  const std::string path = "fuzz";
  const compressed::Stored stored{path, bytes.size(), [&](std::uint64_t offset, std::span<std::byte> out) {
                                    if (offset > bytes.size() || out.size() > bytes.size() - offset) std::abort();
                                    if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
                                  }};
  Limits limits;
  limits.unpacked_bytes = 1 << 20;
  limits.unpack_window_bytes = 1 << 20;
  try {
    const compressed::Unpacked file(stored, (data[0] & 1) != 0 ? compressed::Codec::gzip : compressed::Codec::zstd,
                                    limits);
    std::vector<std::byte> all(static_cast<std::size_t>(file.size()));
    const std::size_t begin = all.size() * data[1] / 256;
    std::vector<std::byte> part(std::min<std::size_t>(all.size() - begin, 1000));
    if ((data[0] & 2) != 0) file.read(stored, begin, part);
    file.read(stored, 0, all);
    if ((data[0] & 2) == 0) file.read(stored, begin, part);
    if (!std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(begin))) std::abort();
  } catch (const Error& error) {
    if (error.fault().id.empty() || error.fault().what.empty()) std::abort();
  }
  return 0;
}
