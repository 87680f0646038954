// SPDX-License-Identifier: MIT
//
// Where relative paths count from at this moment, for files that are opened again when the process may be elsewhere.
#pragma once

#include <string>

namespace batchfeed {

// Empty where nobody can tell, or where its whole path leads elsewhere or through folders that may not be passed:
// then relative paths alone lead there.
std::string working_folder();

}  // namespace batchfeed
