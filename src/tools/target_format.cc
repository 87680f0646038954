// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>

#include <filesystem>

#include "tools/refuse.h"

namespace batchfeed {

Format target_format(const std::string& path, const std::string& to) {
  std::filesystem::path name = path;
  if (name.extension() == ".gz") {
    refuse("convert.target-gzip", path, "gzip is read but not written",
           "name it .zst, which can be read from the middle");
  }
  const bool compressed = name.extension() == ".zst";
  if (compressed) name = name.stem();
  const std::string word = to.empty() ? name.extension().string() : "." + to;
  const auto format = [&] {
    if (word == ".cbf" || word == ".bin") return Format::cbf;
    if (word == ".ctf" || word == ".txt") return Format::ctf;
    if (word == ".scp") return Format::scp;
    if (word == ".mlf") return Format::mlf;
    if (word == ".htk" || word == ".mfc" || word == ".fea") return Format::htk;
    refuse("convert.target-name", path, "its name does not say which format to write",
           "`to` does: cbf, ctf, scp, htk or mlf");
  }();
  if (compressed && (format == Format::scp || format == Format::htk))
    refuse("convert.target-compressed", path, "speech features are not compressed", "name it without .zst");
  return format;
}

}  // namespace batchfeed
