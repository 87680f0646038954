// SPDX-License-Identifier: MIT
#include <batchfeed/hint.h>

#include <algorithm>
#include <cstddef>

namespace batchfeed {

std::string with_names(std::string_view hint,
                       const std::function<std::string(std::string_view name, std::string_view value)>& words) {
  constexpr std::string_view kIs = " = ";
  std::string out;
  for (;;) {
    const std::size_t begin = hint.find('`');
    const std::size_t end = begin == hint.npos ? hint.npos : hint.find('`', begin + 1);
    if (end == hint.npos) return out.append(hint);
    const std::string_view named = hint.substr(begin + 1, end - begin - 1);
    const std::size_t name_end = std::min(named.find(kIs), named.size());
    out.append(hint.substr(0, begin));
    out += words(named.substr(0, name_end), named.substr(std::min(name_end + kIs.size(), named.size())));
    hint.remove_prefix(end + 1);
  }
}

}  // namespace batchfeed
