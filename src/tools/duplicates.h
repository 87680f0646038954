// SPDX-License-Identifier: MIT
//
// How many sequences repeat the data of another one, told by a part of their hashes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace batchfeed {

// Of `sequences` sequences, those beyond the first of their data. `hashes`: of them, those whose last `thinned` bits
// are 0, in any order; sorted on return. Exact where `thinned` is 0; else the better of two estimates: what repeats
// among `hashes` times 2^thinned, or all but as many different ones as `hashes` show. The first fails where a few
// hashes make up most of the corpus, the second is too coarse where nearly all differ; their variances are as the sums
// of (times - 1)^2 and of 1 over the different hashes.
inline std::uint64_t count_duplicates(std::vector<std::uint64_t>& hashes, std::uint64_t sequences, unsigned thinned) {
  std::sort(hashes.begin(), hashes.end());
  std::uint64_t different = 0;
  double squares = 0;
  for (std::size_t i = 0; i < hashes.size(); ++different) {
    const std::size_t first = i;
    while (i < hashes.size() && hashes[i] == hashes[first]) ++i;
    const auto again = static_cast<double>(i - first - 1);
    squares += again * again;
  }
  if (thinned == 0) return hashes.size() - different;
  const std::uint64_t most = sequences == 0 ? 0 : sequences - 1;
  if (squares < static_cast<double>(different)) return std::min((hashes.size() - different) << thinned, most);
  return std::min(sequences - std::min(different << thinned, sequences), most);
}

}  // namespace batchfeed
