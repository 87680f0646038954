// SPDX-License-Identifier: MIT
#include <batchfeed/fix.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

#include "compressed/compressed.h"
#include "formats/cbf/keys.h"
#include "formats/cbf/mend.h"
#include "formats/ctf/mend.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

void copy(const io::File& from, const std::string& target) {
  io::AtomicFile out(target);
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < from.size(); at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(from.size() - at, 1 << 20)));
    from.read(at, piece);
    out.append(piece);
  }
  out.commit();
}

}  // namespace

std::vector<Fix> fix_file(const std::string& path, const std::string& target, const FixOptions& options) {
  std::error_code none;
  if (std::filesystem::equivalent(path, target, none))
    refuse("fix.same-file", target, "a file is not mended in place", "name a new file");
  const Format format = detect_format(path, options.file_system, options.limits);
  if (format != Format::ctf && format != Format::cbf)
    refuse("fix.format", path, "only text and binary corpora can be mended", "`check()` lists what is wrong");
  const io::File file(path, options.file_system);
  std::array<std::byte, compressed::kHeadBytes> head{};
  file.read(0, std::span(head).first(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), head.size()))));
  if (compressed::codec_of(head) != compressed::Codec::none)
    refuse("fix.format", path, "it is compressed", "mend the unpacked file");
  const std::string keys = cbf::keys_path(path);
  const bool has_keys = format == Format::cbf && std::filesystem::exists(keys, none);
  if (has_keys) cbf::refuse_foreign_keys(target);
  io::AtomicFile out(target, {.replace = options.force});
  std::vector<Fix> fixes = format == Format::ctf ? ctf::mend(file, out, options) : cbf::mend(file, out, options);
  cbf::commit_without_keys(out, options.force);
  if (has_keys) copy(io::File(keys, options.file_system), cbf::keys_path(target));
  return fixes;
}

}  // namespace batchfeed
