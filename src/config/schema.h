// SPDX-License-Identifier: MIT
//
// The table of every key of every reader section: behind warnings of unknown and
// dead keys and docs/reference/config.md.
#pragma once

#include <batchfeed/config.h>

#include <span>
#include <string_view>

namespace batchfeed::config {

std::span<const ConfigKey> schema();

// The row of `key` (any case) for sections of kind `section`, or null. Readers
// also take the rows of "reader".
const ConfigKey* find_key(std::string_view section, std::string_view key);

// The known key nearest to `key`, or nothing if none is near.
std::string_view nearest_key(std::string_view section, std::string_view key);

}  // namespace batchfeed::config
