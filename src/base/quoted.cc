// SPDX-License-Identifier: MIT
#include "base/quoted.h"

#include <cstddef>

#include "base/hex.h"

namespace batchfeed {

std::string_view clipped(std::string_view text) noexcept {
  constexpr std::size_t kMost = 80, kCharacter = 4;  // bytes
  const auto goes_on = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  if (text.size() <= kMost) return text;
  for (std::size_t end = kMost; end > kMost - kCharacter; --end)
    if (!goes_on(end)) return text.substr(0, end);
  return text.substr(0, kMost);  // it is no UTF-8
}

namespace {
void append(char c, std::string& out) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7F) {
    out += c;
  } else {
    out += "\\x";
    append_hex(out, byte);
  }
}
}  // namespace

std::string in_one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) append(c, out);
  return out;
}

std::string quoted(std::string_view text) {
  const std::string_view front = clipped(text);
  std::string out = "'";
  for (const char c : front) c == '\n' ? void(out += "\\n") : append(c, out);
  return out + (text.size() > front.size() ? "...'" : "'");
}

}  // namespace batchfeed
