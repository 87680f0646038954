// SPDX-License-Identifier: MIT
#include "base/counted.h"

namespace batchfeed {

std::string plural_of(std::string_view noun) {
  std::string out(noun);
  if (noun.ends_with('y')) return out.replace(out.size() - 1, 1, "ies");
  return out += noun.ends_with('s') || noun.ends_with("ch") ? "es" : "s";
}

}  // namespace batchfeed
