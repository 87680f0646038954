// SPDX-License-Identifier: MIT
//
// A saved state whose numbers were changed and whose checksum is right, or any text
// (first byte 255): it is refused, or the reader goes on and saves what it was given.
#include <batchfeed/reader.h>

#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/hex.h"
#include "support/batch_hash.h"
#include "support/fuzz_file.h"
#include "support/memory_source.h"

namespace {

using namespace batchfeed;
using batchfeed::testing::require;

ReaderOptions options(unsigned choice) {
  ReaderOptions o;
  o.order = {.kind = static_cast<OrderKind>(choice % 3), .window = 2, .seed = 7};
  o.minibatch_size = {5};
  o.prefetch = false;
  switch (choice / 3 % 6) {
    case 1: o.pack.kind = Packing::frames; break;
    case 2: o.pack = {Packing::truncated, 3, 1}; break;
    case 3: o.bucket_minibatches = 3; break;
    case 4:
      o.shard = Shard::chunk;
      o.workers = 2;
      o.rank = 1;
      o.driver = ReaderOptions::Driver::timeline;
      o.epoch_samples = 70;
      break;
    case 5: o.epoch_samples = 13; break;
    default: break;
  }
  return o;
}

// The bytes choose numbers of the text and what is put in their places.
std::string changed(std::string text, const std::uint8_t* data, std::size_t size) {
  const std::size_t end = text.rfind(",\"check\"");
  require(end != text.npos);
  text.resize(end);
  static constexpr std::string_view kValues[] = {
      "0", "1",  "2",  "3", "18446744073709551615", "9223372036854775808", "4294967295", "1000000007",
      "",  "-1", "12", "70"};
  for (; size >= 2; data += 2, size -= 2) {
    std::size_t at = 0;
    for (unsigned n = data[0] % 24; n > 0 && at != text.npos; --n) at = text.find_first_of(":,[", at + 1);
    if (at == text.npos) continue;
    const std::size_t stop = std::min(text.find_first_of(",}]", at + 1), text.size());
    if (data[1] < 200) {
      text.replace(at + 1, stop - at - 1, kValues[data[1] % 12]);
    } else {
      text.insert(at + 1, std::string(1, static_cast<char>(data[1] - 200 + '0')));
    }
  }
  return text + ",\"check\":\"" + hex(hash_text(text)) + "\"}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3 || size > 4096) return 0;
  const unsigned choice = data[0] % 18;
  const std::vector<std::vector<std::uint32_t>> chunks = {{2, 1, 9}, {3, 3}, {1}, {4, 2, 2, 5}};
  const auto source = std::make_shared<reader::MemorySource>(chunks, choice / 3 % 6 == 1);
  const ReaderOptions o = options(choice);
  Reader reader(source, o);
  Minibatch batch;
  for (unsigned i = data[1] % 16; i > 0; --i) {
    if (!reader.read(batch)) break;
  }
  const std::string state = data[0] == 255 ? std::string(reinterpret_cast<const char*>(data) + 2, size - 2)
                                           : changed(reader.state(), data + 2, size - 2);
  Reader other(source, o);
  try {
    other.restore(state);
    const std::string saved = other.state();
    reader.restore(saved);
    require(reader.state() == saved);
    for (int i = 0; i < 4; ++i) {
      Minibatch twin;
      const bool more = other.read(batch);
      require(reader.read(twin) == more);
      if (!more) break;
      require(testing::hash_of(batch) == testing::hash_of(twin));
    }
    require(reader.state() == other.state());
  } catch (const Error& error) {
    testing::check_fault(error);
  }
  return 0;
}
