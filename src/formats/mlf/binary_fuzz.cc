// SPDX-License-Identifier: MIT
//
// Input: a byte that chooses the options, then a binary label file without its magic.
// With the options inferred from the file, it must open, too.
#include <cstdint>
#include <memory>
#include <string>

#include "formats/mlf/infer.h"
#include "formats/mlf/mlf.h"
#include "support/fuzz_file.h"

using namespace batchfeed;

namespace {

void read(const MlfOptions& options, const OpenContext& context) {
  try {
    testing::read_everything(mlf::open(options, context));
  } catch (const Error& error) {
    testing::check_fault(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > (1u << 16)) return 0;
  const unsigned choice = data[0];
  const testing::MemoryFile file("MLF" + std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  MlfOptions options{.name = "labels", .files = {file.path()}, .binary = true, .dim = 4, .chunk_bytes = 100};
  options.frame_mode = (choice & 1) != 0;
  options.legacy = (choice & 2) != 0;
  if ((choice & 16) != 0) options.element = Element::f64;
  OpenContext context;
  context.keys = std::make_shared<KeyTable>((choice & 4) != 0 ? KeyMode::numeric : KeyMode::text);
  context.check = (choice & 8) != 0;
  context.limits.label_frames = 100'000;
  read(options, context);
  try {
    mlf::infer(options, context);
    testing::require(options.binary && options.dim >= 1 && options.dim <= 65536);
  } catch (const Error& error) {
    testing::require(!error.fault().what.empty());
    return 0;
  }
  read(options, context);
  return 0;
}
