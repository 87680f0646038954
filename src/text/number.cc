// SPDX-License-Identifier: MIT
#include "text/number.h"

#include <fast_float/fast_float.h>

#include <limits>
#include <system_error>

namespace batchfeed::text::detail {

double exact(const char* p, const char* end) noexcept {
  double value = 0;
  const auto result = fast_float::from_chars(p, end, value);
  // For a number out of range fast_float gives infinity or zero, as the text format defines it.
  if (result.ec != std::errc() && result.ec != std::errc::result_out_of_range)
    return std::numeric_limits<double>::quiet_NaN();
  return value;
}

}  // namespace batchfeed::text::detail
