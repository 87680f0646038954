// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>

namespace batchfeed {

std::string_view name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::usage: return "usage";
    case FaultKind::config: return "config";
    case FaultKind::io: return "io";
    case FaultKind::format: return "format";
    case FaultKind::limit: return "limit";
    case FaultKind::stale: return "stale";
    case FaultKind::state: return "state";
    case FaultKind::internal: return "internal";
  }
  return "internal";
}

std::string Fault::text() const {
  std::string out = at.file.empty() ? "batchfeed" : at.file;
  if (at.line != 0) out += ':' + std::to_string(at.line);
  if (at.line != 0 && at.column != 0) out += ':' + std::to_string(at.column);
  if (at.has_byte) out += " (byte " + std::to_string(at.byte) + ')';
  out += ": ";
  out += what;
  if (!hint.empty()) out += "; hint: " + hint;
  return out;
}

}  // namespace batchfeed
