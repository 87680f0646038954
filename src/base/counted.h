// SPDX-License-Identifier: MIT
//
// Numbers of things, for what is said to people.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace batchfeed {

// "samples" of "sample", "entries" of "entry": of nouns whose plural ends in s, es or ies.
std::string plural_of(std::string_view noun);

// "1 sample", "2 samples", "0 entries".
std::string counted(std::integral auto n, std::string_view noun) {
  return std::to_string(n) + ' ' + (n == 1 ? std::string(noun) : plural_of(noun));
}

}  // namespace batchfeed
