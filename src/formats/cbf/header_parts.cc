// SPDX-License-Identifier: MIT
#include "formats/cbf/header_parts.h"

namespace batchfeed::cbf {
namespace {

// Whether the bytes are UTF-8 as Unicode defines it (shortest forms, no surrogates).
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

}  // namespace

std::string printable(std::string_view name) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const bool text = is_utf8(name);
  std::string out;
  for (const char c : name.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F && (text || byte < 0x80)) {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return name.size() > 80 ? out + "..." : out;
}

std::string HeaderParts::name(Feed& feed, std::uint64_t at, std::uint32_t length, const std::string& who) const {
  if (length > limits.name_bytes)
    faults.over_limit("limit.name-bytes", at, who + ": bytes of its name", length, limits.name_bytes, "name_bytes");
  std::string name(length, '\0');
  const std::uint64_t name_at = feed.at();
  feed.copy(std::as_writable_bytes(std::span(name)).data(), length);
  if (const auto nul = name.find('\0'); nul != std::string::npos) {
    name.resize(nul);
    sink.warning(faults.make("cbf.bad-stream-name", name_at + nul, who + ": its name holds a NUL byte",
                             "it ends there: '" + printable(name) + "'", name));
  }
  if (name.empty()) faults.fail("cbf.bad-stream-name", at, who + ": its name is empty");
  if (!is_utf8(name)) {
    sink.warning(
        faults.make("cbf.bad-stream-name", name_at, who + ": its name '" + printable(name) + "' is not UTF-8", {}, name));
  }
  return name;
}

Element HeaderParts::element(std::uint64_t code, const FileStream& stream) const {
  if (code > 1) {
    faults.fail("cbf.unknown-element-type", stream.element_at,
                "stream '" + printable(stream.name) + "': element type " + std::to_string(code) +
                    ", expected 0 (float) or 1 (double)",
                {}, stream.name);
  }
  return code == 0 ? Element::f32 : Element::f64;
}

std::uint32_t HeaderParts::dim(std::uint32_t dim, std::uint64_t at, const FileStream& stream) const {
  const std::uint64_t most = stream.storage == Storage::sparse ? 0x7FFFFFFFu : 0xFFFFFFFFu;
  if (dim == 0 || dim > most) {
    faults.fail("cbf.bad-dimension", at,
                "stream '" + printable(stream.name) + "': dimension " + std::to_string(dim) + ", expected 1 to " +
                    std::to_string(most),
                {}, stream.name);
  }
  if (dim > limits.dim)
    faults.over_limit("limit.dim", at, "stream '" + printable(stream.name) + "': dimension", dim, limits.dim, "dim");
  return dim;
}

void HeaderParts::limit_streams(std::uint64_t streams, std::uint64_t at) const {
  if (streams > limits.streams)
    faults.over_limit("limit.streams", at, "number of streams", streams, limits.streams, "streams");
}

}  // namespace batchfeed::cbf
