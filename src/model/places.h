// SPDX-License-Identifier: MIT
//
// Entries whose keys are places in a list of texts, as they are until a KeyTable has numbered these, and in a cache.
#pragma once

#include <cstdint>

#include "base/text_list.h"
#include "model/index.h"
#include "model/key_table.h"

namespace batchfeed {

// Whether each entry has the place that is its own.
bool are_places(const IndexEntries& entries, const TextList& texts);

// The keys of such become those of a table,
void number_places(IndexEntries& entries, const TextList& texts, KeyTable& keys);

// and back: `texts` is empty before.
void put_places(IndexEntries& entries, TextList& texts, const KeyTable& keys);

}  // namespace batchfeed
