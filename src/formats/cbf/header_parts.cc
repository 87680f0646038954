// SPDX-License-Identifier: MIT
#include "formats/cbf/header_parts.h"

namespace batchfeed::cbf {

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
    sink.warning(faults.make("cbf.bad-stream-name", name_at, who + ": its name '" + printable(name) + "' is not UTF-8",
                             {}, name));
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
