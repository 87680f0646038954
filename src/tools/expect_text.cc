// SPDX-License-Identifier: MIT
#include "tools/expect_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/quoted.h"
#include "io/file.h"

namespace batchfeed::tools {

namespace {

constexpr std::size_t kHead = 64u << 10;
// More than one control character in so many bytes is not text. Random bytes have one in nine, text none.
constexpr std::size_t kMostOf = 50;

// The first bytes of files of other formats, and what to say of these.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kBeginnings = {
    {{"\x89PNG", "a picture (PNG)"},
     {"\xFF\xD8\xFF", "a picture (JPEG)"},
     {"PK\3\4", "a zip archive, such as .npz and .pt"},
     {"PAR1", "Parquet; from_parquet() of the Python package takes it"},
     {"\x93NUMPY", "an array of NumPy; Arrays() of the Python package takes it"},
     {"\x89HDF", "HDF5"},
     {"%PDF", "PDF"},
     {"BZh", "compressed with bzip2; unpack it first"},
     {"\xFD"
      "7zXZ",
      "compressed with xz; unpack it first"},
     {"\x04\x22\x4D\x18", "compressed with lz4; unpack it first"}}};

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && byte != '\0' && (byte < '\t' || byte > '\r')) || byte == 0x7F;
}

}  // namespace

void expect_text(const io::File& file) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kHead)), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  const auto controls = static_cast<std::size_t>(std::count_if(head.begin(), head.end(), is_control));
  if (controls <= head.size() / kMostOf) return;
  const auto known = std::find_if(kBeginnings.begin(), kBeginnings.end(),
                                  [&](const auto& one) { return std::string_view(head).starts_with(one.first); });
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "infer.no-text",
                    .at = {.file = file.path()},
                    .what = "is no text: " + std::to_string(controls) + " of the first " +
                            counted(head.size(), "byte") + " are control characters",
                    .hint = known != kBeginnings.end()
                                ? "it begins as " + std::string(known->second)
                                : "make or fetch it again; if it is a damaged text corpus, declare its streams"});
}

void expect_values(const std::string& file, const Inferred& inferred) {
  if (inferred.streams.empty()) return;
  for (const Inferred::Stream& stream : inferred.streams)
    if (stream.values != 0) return;
  const std::string& name = inferred.streams.front().spec.name;
  const char* const others = inferred.streams.size() == 1 ? "" : " and the others";
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "infer.no-value",
                    .at = {.file = file},
                    .what = "no stream has a value: what stands behind " + quoted('|' + name) + others +
                            " is no number, or an index beyond 2147483646",
                    .hint = "a table with '|' between its columns? from_pandas() of the Python package takes one; in a "
                            "text corpus a row is |x 1 2 |y 3:1"});
}

}  // namespace batchfeed::tools
