// SPDX-License-Identifier: MIT
//
// A cache that belongs to the data and has a right checksum, and lies: whatever
// its counts and entries say, a source opens and reads without harm.
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "formats/ctf/fuzzing.h"
#include "formats/ctf/source.h"

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
  static const World world;
  constexpr std::size_t kBound = 40, kChecksumAt = 80, kHeader = 88;
  // The input replaces, from an offset on, what is not bound to the data.
  std::string cache = world.valid;
  if (size > 0) {
    const std::size_t at = kBound + data[0] % (cache.size() - kBound);
    cache.replace(at, std::min(size - 1, cache.size() - at), reinterpret_cast<const char*>(data) + 1, size - 1);
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
    } catch (const Error&) {
    }
  }
  return 0;
}
