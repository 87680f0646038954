// SPDX-License-Identifier: MIT
#include "base/quoted.h"

#include <cstddef>

#include "base/hex.h"

namespace batchfeed {

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      append_hex(out, byte);
    } else {
      out += c;
    }
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

}  // namespace batchfeed
