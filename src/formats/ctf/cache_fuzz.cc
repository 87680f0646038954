// SPDX-License-Identifier: MIT
//
// A cache that belongs to the data and has a right checksum, and lies: whatever
// its counts and entries say, a source opens and reads without harm. And kept
// streams: what is taken for some is written as it was.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "base/hash.h"
#include "formats/ctf/fuzz_testing.h"
#include "formats/ctf/kept_streams.h"
#include "formats/ctf/source.h"
#include "support/fuzz_file.h"

namespace {

using namespace batchfeed;

struct World {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("batchfeed-fuzz-" + std::to_string(::getpid()));
  std::string data, cache, valid;
  CtfOptions options = ctf::options_for({"A:d2", "B:s8"}, 1'000'000);

  World() {
    std::filesystem::create_directories(folder);
    data = (folder / "t.ctf").string();
    std::ofstream(data, std::ios::binary)
        << "1 |A 1 2 |B 1:1\n1 |A 3\n22 |B 2:2 |A 5 5\n3 |A 1 |B 7:7\n|A 9 9\n4 |A x |B 1:1";
    options.cache_index = true;
    const ctf::CtfSource source(options, data, ctf::quiet_context());
    cache = source.cache().path;
    std::ifstream in(cache, std::ios::binary);
    valid.assign(std::istreambuf_iterator<char>(in), {});
  }
  ~World() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto kept = ctf::decode(std::as_bytes(std::span(data, size)), 1'000'000, {});
  if (kept && ctf::encode(*kept) != std::string_view(reinterpret_cast<const char*>(data), size)) std::abort();

  static const World world;
  constexpr std::size_t kBound = 40, kChecksumAt = 80, kHeader = 88;
  // The first byte chooses: the input replaces, from an offset on, what is not bound to the data; or each
  // three bytes put a number that is about to wrap into one of its fields.
  std::string cache = world.valid;
  if (size > 1 && data[0] < 128) {
    const std::size_t at = kBound + data[1] % (cache.size() - kBound);
    cache.replace(at, std::min(size - 2, cache.size() - at), reinterpret_cast<const char*>(data) + 2, size - 2);
  } else {
    static constexpr std::uint64_t kNear[] = {0, ~0ull, 1ull << 63, 1ull << 32, 1ull << 31, 64, 1ull << 59, 1000};
    for (std::size_t i = 1; i + 3 <= size; i += 3) {
      // A count of the header, or a field of the entries, which stand last.
      const std::size_t at = data[i] < 40 ? kBound + data[i] % 5 * 8 : cache.size() - 8 - data[i] % 20 * 8;
      const std::uint64_t value = kNear[data[i + 1] % 8] + data[i + 2] - 128;
      std::memcpy(cache.data() + at, &value, sizeof value);
    }
  }
  if (cache.size() < kHeader) return 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, cache.data(), kChecksumAt);
  XXH3_64bits_update(&state, cache.data() + kHeader, cache.size() - kHeader);
  const std::uint64_t checksum = XXH3_64bits_digest(&state);
  std::memcpy(cache.data() + kChecksumAt, &checksum, sizeof checksum);
  std::ofstream(world.cache, std::ios::binary | std::ios::trunc) << cache;

  const ctf::CtfSource source(world.options, world.data, ctf::quiet_context());
  Chunk chunk;
  for (std::uint32_t i = 0; i < source.chunks().size(); ++i) {
    try {
      source.read(i, chunk);
    } catch (const Error& error) {
      if (error.fault().id != "ctf.other-length") testing::check_fault(error);  // a lie that the text tells
    }
  }
  return 0;
}
