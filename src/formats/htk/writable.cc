// SPDX-License-Identifier: MIT
#include "formats/htk/writable.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/counted.h"
#include "base/quoted.h"
#include "formats/htk/header.h"
#include "formats/htk/scp.h"

namespace batchfeed {
namespace htk {
namespace {

constexpr std::uint64_t kMostFrames = 0x7FFFFFFF;  // the header's count of frames is an int32
constexpr std::uint64_t kMostDim = 65535 / 4;      // the header's bytes of a frame are 16 bits
constexpr std::uint32_t kMostPeriod = 10'000'000;  // in 100 ns: a second

[[noreturn]] void refuse(const char* id, const std::string& file, std::string what, std::string hint) {
  throw Error(Fault{
      .kind = FaultKind::usage, .id = id, .at = {.file = file}, .what = std::move(what), .hint = std::move(hint)});
}

std::string shown(std::string_view key) { return std::string(clipped(key)); }

}  // namespace

// Throws Error for a header that cannot be written: values are always plain floats, so no other encoding; and readers
// tell the byte order by the period, so that must be a small number above 0.
void check_head(const HtkWriterOptions& options, const std::string& path) {
  if (options.dim == 0 || options.dim > kMostDim) {
    refuse("htk.write-dim", path,
           "frames of " + counted(options.dim, "value") + ", a parameter file holds 1 to " + std::to_string(kMostDim),
           "write another format");
  }
  if (kind_text(options.kind).empty() || (options.kind & 077) == 12 ||
      (options.kind & (kCompressed | kChecksum | kVq)) != 0) {
    refuse("htk.write-kind", path, "kind " + std::to_string(options.kind) + " cannot be written",
           "htk_kind() gives the numbers of those that can");
  }
  if (options.period == 0 || options.period > kMostPeriod)
    refuse("htk.write-period", path,
           "frames of " + std::to_string(options.period) + " x 100 ns, expected 1 to " + std::to_string(kMostPeriod),
           "100000 are 10 ms");
}

void check_companion(const std::string& name, const std::string& path) {
  const std::size_t at = name.find_first_of("[\n\r");
  if (at == name.npos) return;
  refuse("htk.write-name", path,
         "'" + name + "' has " +
             (name[at] == '[' ? "a bracket, which would begin a range in the list"
                              : "a line break, which would end a line of the list"),
         "choose another name");
}

void check_key(std::string_view key, const std::string& path) {
  const bool blank = !key.empty() && (kBlanks.find(key.front()) != key.npos || kBlanks.find(key.back()) != key.npos);
  if (!key.empty() && !blank && key.find_first_of(std::string_view("=\n\r\0", 4)) == key.npos) return;
  refuse("htk.write-key", path, "a list cannot hold the key '" + shown(key) + "'",
         "keys of a list are not empty, have no '=' or line break, and no blank at their ends; number the sequences");
}

void check_name(std::string_view key, const std::string& path) {
  for (std::size_t from = 0; from <= key.size();) {
    const std::size_t end = std::min(key.find('/', from), key.size());
    const std::string_view part = key.substr(from, end - from);
    if (part.empty() || part == "." || part == ".." || part.size() > 200 || part.find('[') != part.npos) {
      refuse("htk.write-name", path, "the key '" + shown(key) + "' cannot name a file",
             "write one archive, or number the sequences");
    }
    from = end + 1;
  }
}

void check_frames(std::string_view key, std::uint64_t count, const float* values, std::uint64_t before,
                  const std::string& path) {
  if (count == 0) refuse("htk.write-empty", path, "utterance '" + shown(key) + "' has no frames", "leave it out");
  if (values == nullptr)
    refuse("htk.write-no-data", path, "utterance '" + shown(key) + "' has frames without values",
           "give the values of every frame");
  if (count > kMostFrames - before)
    refuse("htk.write-too-many", path, "more than 2147483647 frames in one parameter file",
           "write several, or a file for each utterance");
}

void refuse_second(const std::string& path) {
  refuse("htk.write-single", path, "a parameter file alone holds one utterance, there are more",
         "write a list: name the target .scp");
}

void refuse_repeated(std::string_view key, const std::string& path) {
  refuse("htk.write-repeated", path, "utterance '" + shown(key) + "' is there already",
         "readers leave out all of one key: give each its own");
}

void refuse_raced(const std::string& features) {
  refuse("htk.write-raced", features, "another writer replaced it before its list was in place",
         "write to one name once at a time; write it again");
}

void refuse_same_name(std::string_view key, const std::string& path) {
  refuse("htk.write-name", path, "two utterances with the key '" + shown(key) + "'",
         "write one archive, or number the sequences");
}

}  // namespace htk

std::uint16_t htk_kind(std::string_view text) {
  const auto bad = [&](std::string why) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "htk.kind-text",
                      .what = "'" + std::string(text) + "': " + std::move(why),
                      .hint = "write MFCC, FBANK, PLP or USER with _E _D _N _A _T _Z _0, such as MFCC_0_D_A"});
  };
  const std::size_t bar = std::min(text.find('_'), text.size());
  std::uint16_t code = 0;
  for (const std::uint16_t base : std::array<std::uint16_t, 4>{6, 7, 9, 11}) {
    if (htk::kind_text(base) == text.substr(0, bar)) code = base;
  }
  if (code == 0) bad("no kind of features that can be written");
  for (std::size_t at = bar; at < text.size(); at += 2) {
    const std::string_view qualifier = text.substr(at, 2);
    std::uint16_t bit = 0;
    for (unsigned candidate = 0100; candidate <= 0100000; candidate <<= 1) {
      if (candidate == htk::kCompressed || candidate == htk::kVq || candidate == htk::kChecksum) continue;
      if (htk::kind_text(static_cast<std::uint16_t>(9 | candidate)) == "USER" + std::string(qualifier))
        bit = static_cast<std::uint16_t>(candidate);
    }
    if (bit == 0 || (code & bit) != 0) bad("'" + std::string(qualifier) + "' is no qualifier that can be written here");
    code = static_cast<std::uint16_t>(code | bit);
  }
  return code;
}

}  // namespace batchfeed
