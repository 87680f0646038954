// SPDX-License-Identifier: MIT
//
// No format but text has comments, and parsed sequences do not keep them: whoever writes a corpus anew loses them.
#include <batchfeed/convert.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "assemble/open.h"
#include "io/file.h"

namespace batchfeed {

namespace {

constexpr std::size_t kLook = 1u << 20;  // bytes of a text that are looked at
constexpr std::size_t kTexts = 64;       // the most texts

// The first comment in the beginning of a text.
std::optional<Position> first_comment(const std::string& file, const Setup& setup) {
  const std::string text = io::read_head(file, kLook, setup.file_system, setup.limits).bytes;
  const std::size_t at = text.find("|#");
  if (at == text.npos) return {};
  const std::string_view before = std::string_view(text).substr(0, at);
  Position out{.file = file, .byte = at, .has_byte = true};
  out.line = 1 + static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
  out.column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return out;
}

}  // namespace

void warn_of_comments(const std::vector<const Setup*>& corpora, const Report& report) {
  if (!report) return;
  std::size_t left = kTexts;
  for (const Setup* corpus : corpora) {
    Setup setup = *corpus;
    for (const SourceOptions* source : sources_of(setup)) {
      const auto* const text = std::get_if<CtfOptions>(source);
      if (text == nullptr) continue;
      for (const std::string& file : assemble::expand(text->files, setup.file_system, setup.limits)) {
        if (left-- == 0) return;
        std::optional<Position> at = first_comment(file, setup);
        if (!at) continue;
        report({Severity::warning, Fault{.kind = FaultKind::usage,
                                         .id = "convert.comments",
                                         .at = std::move(*at),
                                         .what = "comments are not written, nor class names in them",
                                         .hint = "keep this text if they are needed"}});
        return;
      }
    }
  }
}

}  // namespace batchfeed
