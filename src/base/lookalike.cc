// SPDX-License-Identifier: MIT
#include "base/lookalike.h"

#include <cstddef>
#include <cstdint>

namespace batchfeed {
namespace {

struct Range {
  std::uint32_t first, last;  // of code points
  const char* name;
  // The ASCII text that was meant; empty if the character should go. Of a range of ten or more code points it is what
  // the first one stands for, and the others stand for the ASCII characters after it; a blank is meant by all of them.
  const char* meant;
};

constexpr Range kRanges[] = {
    {0x0085, 0x0085, "a line end of mainframes", "\n"},
    {0x00A0, 0x00A0, "a no-break space", " "},
    {0x00A6, 0x00A6, "a broken bar", "|"},
    {0x00AB, 0x00AB, "a quotation mark", "\""},
    {0x00AD, 0x00AD, "a soft hyphen", "-"},
    {0x00B4, 0x00B4, "an accent", "'"},
    {0x00BB, 0x00BB, "a quotation mark", "\""},
    {0x00D7, 0x00D7, "a multiplication sign", "*"},
    {0x0660, 0x0669, "an Arabic digit", "0"},
    {0x066B, 0x066B, "an Arabic decimal separator", "."},
    {0x06F0, 0x06F9, "a Persian digit", "0"},
    {0x0966, 0x096F, "a Devanagari digit", "0"},
    {0x2000, 0x200A, "a space of another width", " "},
    {0x200B, 0x200F, "an invisible character", ""},
    {0x2010, 0x2012, "a hyphen", "-"},
    {0x2013, 0x2015, "a dash", "-"},
    {0x2018, 0x201B, "a curly quote", "'"},
    {0x201C, 0x201F, "a curly quote", "\""},
    {0x2026, 0x2026, "an ellipsis", "..."},
    {0x2028, 0x2029, "a line separator", "\n"},
    {0x202A, 0x202E, "an invisible character", ""},
    {0x202F, 0x202F, "a no-break space", " "},
    {0x2032, 0x2032, "a prime", "'"},
    {0x2033, 0x2033, "a double prime", "\""},
    {0x205F, 0x205F, "a space of another width", " "},
    {0x2060, 0x2064, "an invisible character", ""},
    {0x2212, 0x2212, "a minus sign", "-"},
    {0x2223, 0x2223, "a vertical bar", "|"},
    {0x2236, 0x2236, "a ratio sign", ":"},
    {0x2502, 0x2502, "a drawn line", "|"},
    {0x3000, 0x3000, "a space of another width", " "},
    {0xFE63, 0xFE63, "a small minus sign", "-"},
    {0xFEFF, 0xFEFF, "a byte order mark", ""},
    {0xFF01, 0xFF5E, "a full-width character", "!"},
};

// Bytes of Windows code page 1252, for text that is not UTF-8.
constexpr Range kBytes[] = {
    {0x85, 0x85, "an ellipsis", "..."},
    {0x91, 0x92, "a curly quote", "'"},
    {0x93, 0x94, "a curly quote", "\""},
    {0x96, 0x97, "a dash", "-"},
    {0xA0, 0xA0, "a no-break space", " "},
    {0xA6, 0xA6, "a broken bar", "|"},
    {0xAB, 0xAB, "a quotation mark", "\""},
    {0xAD, 0xAD, "a soft hyphen", "-"},
    {0xB4, 0xB4, "an accent", "'"},
    {0xBB, 0xBB, "a quotation mark", "\""},
    {0xD7, 0xD7, "a multiplication sign", "*"},
};

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  // as UTF-8
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {first, 1, false};
  std::uint32_t code = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  return {code, bytes, true};
}

std::string hex(std::uint32_t number, std::size_t digits) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out(digits, '0');
  for (std::size_t i = digits; i-- > 0; number >>= 4) out[i] = kHex[number & 15];
  return out;
}

std::string cure(const Range& range, std::uint32_t code) {
  std::string meant = range.meant;
  if (meant.empty()) {
    return code == 0xFEFF ? ", which may stand at the very beginning of a file only; take it out" : "; take it out";
  }
  if (meant == "\n") return "; end the line with a line feed";
  if (meant == " ") return "; write a plain blank";
  if (range.last - range.first >= 9) meant[0] = static_cast<char>(meant[0] + static_cast<int>(code - range.first));
  return (meant == "'" ? "; write \"'\"" : "; write '" + meant + "'");
}

}  // namespace

std::string lookalike(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    at += c.bytes;
    if (c.valid && c.code < 0x80) continue;
    const auto told = [&](const Range& range, const std::string& name) {
      return name + " is " + range.name + cure(range, c.code);
    };
    if (c.valid) {
      for (const Range& range : kRanges) {
        if (range.first <= c.code && c.code <= range.last) return told(range, "U+" + hex(c.code, 4));
      }
    } else {
      for (const Range& range : kBytes) {
        if (range.first <= c.code && c.code <= range.last)
          return told(range, "byte 0x" + hex(c.code, 2) + " (no UTF-8)");
      }
    }
  }
  return {};
}

std::string lookalike_or(std::string_view text, std::string hint) {
  std::string found = lookalike(text);
  if (found.empty()) return hint;
  return hint.empty() ? found : found + "; " + hint;
}

}  // namespace batchfeed
