// SPDX-License-Identifier: MIT
#include "base/hex.h"
#include "base/quoted.h"
#include "formats/cbf/faults.h"

namespace batchfeed::cbf {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned lead = byte(i);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xC2 ? 4
                             : lead < 0xE0 ? 1
                             : lead < 0xF0 ? 2
                             : lead < 0xF5 ? 3
                                           : 4;
    if (more == 4 || text.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    if (more >= 2) {
      const unsigned second = byte(i + 1);
      if (lead == 0xE0 && second < 0xA0) return false;
      if (lead == 0xED && second > 0x9F) return false;
      if (lead == 0xF0 && second < 0x90) return false;
      if (lead == 0xF4 && second > 0x8F) return false;
    }
    i += more + 1;
  }
  return true;
}

std::string printable(std::string_view name) {
  const bool text = is_utf8(name);
  const std::string_view shown = clipped(name);
  std::string out;
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F && (text || byte < 0x80)) {
      out += c;
    } else {
      out += "\\x";
      append_hex(out, byte);
    }
  }
  return name.size() > shown.size() ? out + "..." : out;
}

}  // namespace batchfeed::cbf
