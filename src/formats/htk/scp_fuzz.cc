// SPDX-License-Identifier: MIT
//
// Input: a byte that chooses the rules for paths, then lines of an scp file. Whatever the
// line, no entry may have an empty path or one that names a program.
#include <cstdint>
#include <string_view>

#include "formats/htk/scp.h"
#include "support/fuzz_file.h"

using namespace batchfeed;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > (1u << 16)) return 0;
  const unsigned choice = data[0];
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  htk::ScpRules rules{.prefix = {}, .directory = "lists", .path_map = {}, .limits = {}};
  if ((choice & 1) != 0) rules.prefix = htk::normalise_prefix("p\\q//");
  if ((choice & 2) != 0) rules.path_map = {{"//host/", "/data/"}, {"C:\\", ""}};
  if ((choice & 4) != 0) rules.limits.sequence_samples = 100;
  if ((choice & 8) != 0) rules.limits.key_bytes = 10;
  for (std::uint64_t line = 1, at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', static_cast<std::size_t>(at)), text.size());
    const std::string_view one = text.substr(static_cast<std::size_t>(at), end - static_cast<std::size_t>(at));
    const Position place{.file = "x.scp", .byte = at, .line = line, .column = 1, .has_byte = true};
    at = end + 1;
    try {
      const htk::ScpEntry entry = htk::parse_scp_line(one, rules, place);
      testing::require(!entry.key.empty() && entry.key.size() <= rules.limits.key_bytes);
      testing::require(entry.path.find('\0') == std::string::npos);
      testing::require(entry.whole || (entry.frames >= 1 && entry.frames <= rules.limits.sequence_samples));
      testing::require(entry.whole || std::uint64_t{entry.first} + entry.frames <= 1ull << 32);
    } catch (const Error& error) {
      const Position& found = error.fault().at;
      testing::require(!error.fault().what.empty() && found.line == line);
      testing::require(found.byte >= place.byte && found.byte <= end && found.column == found.byte - place.byte + 1);
    }
  }
  return 0;
}
