// SPDX-License-Identifier: MIT
//
// Input: a byte that chooses the options (binary, with a list of states, phone
// boundaries, the legacy rules, as `check` reads it), then a label file.
#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/mlf/mlf.h"
#include "support/fuzz_file.h"

using namespace batchfeed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > (1u << 16)) return 0;
  const unsigned choice = data[0];
  const testing::MemoryFile file(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  const testing::MemoryFile states("s0\ns1\ns2\ns3\n");
  MlfOptions options{.name = "labels", .files = {file.path()}, .dim = 4};
  options.binary = (choice & 1) != 0;
  if ((choice & 2) != 0) options.mapping_file = states.path();
  options.phone_boundaries = (choice & 4) != 0;
  options.legacy = (choice & 8) != 0;
  options.frame_mode = (choice & 16) != 0;
  options.chunk_bytes = 200;
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.check = (choice & 32) != 0;
  context.limits.label_frames = 100'000;
  try {
    testing::read_everything(mlf::open(options, context));
  } catch (const Error& error) {
    testing::check_fault(error);
  }
  return 0;
}
