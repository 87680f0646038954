// SPDX-License-Identifier: MIT
//
// However a file is cut into ranges, its index is one; what the index says is
// what reading and a check of the passing text find.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "formats/ctf/ctf.h"
#include "formats/ctf/fuzz_testing.h"
#include "formats/ctf/source.h"
#include "support/fuzz_file.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace batchfeed;
  const ctf::FuzzCase c = ctf::fuzz_case(data, size);
  const testing::MemoryFile file(c.text);
  const auto context = [&](unsigned threads) {
    OpenContext out;
    out.keys = std::make_shared<KeyTable>(c.keys);
    out.threads = threads;
    return out;
  };
  const CheckResult passing = ctf::check_stream(file.descriptor(), "stdin", c.options, {}, {}, nullptr, c.keys);
  std::shared_ptr<const ctf::CtfSource> one;
  try {
    one = std::make_shared<const ctf::CtfSource>(c.options, file.path(), context(1));
  } catch (const Error& e) {
    require(passing.by_id.count(e.fault().id) == 1, "opening fails, the check of the text does not");
    return 0;
  }
  const ctf::CtfSource parts(c.options, file.path(), context(c.threads), {.block = c.block, .range = 1 + c.block / 2});
  const auto& a = one->index().entries;
  const auto& b = parts.index().entries;
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i];
  require(same, "the index depends on ranges");

  std::uint64_t sequences = 0, samples = 0, end = 0;
  Chunk chunk;
  const std::shared_ptr<const Source> source = checked(one);
  for (std::uint32_t i = 0; i < one->chunks().size(); ++i) {
    sequences += one->chunks()[i].sequences;
    samples += one->chunks()[i].samples;
    source->read(i, chunk);
    for (const Column& column : chunk.columns)
      require(column.first_sample.size() == one->chunks()[i].sequences + 1, "a row is missing");
  }
  for (const IndexEntry& e : a) {
    require(e.begin >= end && e.bytes > 0 && e.samples > 0 && e.begin + e.bytes <= c.text.size(),
            "sequences overlap or leave the file");
    end = e.begin + e.bytes;
  }
  require(passing.sequences == sequences && passing.samples == samples && passing.faults == one->errors(),
          "the check of the passing text differs");
  return 0;
}
