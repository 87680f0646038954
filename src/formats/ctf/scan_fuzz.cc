// SPDX-License-Identifier: MIT
//
// Any text reads as the slow model says, with every kernel: keys, lengths, values, errors.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "formats/ctf/fuzz_testing.h"
#include "formats/ctf/printed_testing.h"
#include "support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed;
  constexpr std::array kTiers = {"scalar", "avx2", "avx512"};
  ::setenv("BATCHFEED_CPU", kTiers[size % kTiers.size()], 1);
  const ctf::FuzzCase c = ctf::fuzz_case(data, size);
  const testing::MemoryFile file(c.text);
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(c.keys);
  context.threads = c.threads;
  const std::string fast = ctf::read_all(c.options, file.path(), context, c.block);
  const ctf::Schema schema(c.options, {});
  const std::string slow =
      ctf::model::Reader(schema, c.options.element, c.options.skip_sequence_ids, c.keys != KeyMode::numeric)
          .read(c.text);
  if (fast != slow) {
    std::fprintf(stderr, "read:  %s\nmodel: %s\n", fast.c_str(), slow.c_str());
    std::abort();
  }
  return 0;
}
