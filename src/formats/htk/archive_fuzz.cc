// SPDX-License-Identifier: MIT
//
// Input: a byte that chooses the options, a byte with the length of the list, the list,
// and an HTK file. "@" in the list stands for the path of the file; the list has no NUL.
#include <cstdint>
#include <memory>

#include "formats/htk/htk.h"
#include "support/fuzz_file.h"

using namespace batchfeed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > (1u << 16)) return 0;
  const unsigned choice = data[0];
  const testing::ListedFile file(data, size);
  HtkOptions options{.name = "features", .scp_files = {file.scp()}, .dim = 3};
  if ((choice & 1) != 0) options.context = {{1, 1}};
  if ((choice & 1) != 0) options.dim = 9;
  options.expand_to_utterance = (choice & 2) != 0;
  options.frame_mode = (choice & 4) != 0;
  options.legacy = (choice & 8) != 0;
  options.chunk_frames = 5;
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.check = (choice & 16) != 0;
  try {
    testing::read_everything(htk::open(options, context));
  } catch (const Error& error) {
    testing::check_fault(error);
  }
  return 0;
}
