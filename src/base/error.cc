// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>

#include "base/quoted.h"

namespace batchfeed {

std::string Fault::text() const {
  std::string out = at.file.empty() ? "batchfeed" : at.file;
  if (at.line != 0) out += ':' + std::to_string(at.line);
  if (at.line != 0 && at.column != 0) out += ':' + std::to_string(at.column);
  if (at.has_byte) out += " (byte " + std::to_string(at.byte) + ')';
  out += ": ";
  out += what;
  if (!hint.empty()) out += "; hint: " + hint;
  return in_one_line(out);  // whatever there is in a name, a key or a file
}

}  // namespace batchfeed
