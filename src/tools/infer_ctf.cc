// SPDX-License-Identifier: MIT
//
// A text corpus that nobody declared: its streams, and the reader section that fits.
#include <batchfeed/tools.h>

#include <algorithm>

#include "formats/ctf/ctf.h"

namespace batchfeed {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
}  // namespace

Inferred infer_ctf(const std::string& path, std::uint64_t bytes, const Progress& progress, const Limits& limits) {
  return ctf::infer(path, bytes, progress, limits);
}

std::string reader_section(const std::string& path, const Inferred& inferred) {
  std::string out =
      "reader = [\n    readerType = \"CNTKTextFormatReader\"\n    file = \"" + path + "\"\n    randomize = true\n";
  if (!inferred.has_ids) out += "    skipSequenceIds = true\n";
  out += "    input = [\n";
  std::vector<std::string> used;
  for (const Inferred::Stream& stream : inferred.streams) {
    // A section's name has letters, digits and _ only; the file's own name is the alias.
    std::string section;
    for (const char c : stream.spec.name) section += is_digit(c) || is_letter(c) ? c : '_';
    if (is_digit(section[0])) section.insert(0, 1, '_');
    while (std::find(used.begin(), used.end(), section) != used.end()) section += '_';
    used.push_back(section);
    out += "        " + section + " = [ ";
    if (section != stream.spec.name) out += "alias = \"" + stream.spec.name + "\" ; ";
    out += "dim = " + std::to_string(stream.spec.dim) + " ; format = \"" +
           (stream.spec.storage == Storage::dense ? "dense" : "sparse") + "\" ]\n";
  }
  return out + "    ]\n]\n";
}

}  // namespace batchfeed
