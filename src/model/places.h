// SPDX-License-Identifier: MIT
//
// Entries whose keys are places in a list of texts, as in a cache, and until a KeyTable has numbered the texts.
#pragma once

#include <cstdint>

#include "base/text_list.h"
#include "model/index.h"
#include "model/key_table.h"

namespace batchfeed {

// Whether entry i has place i, and there are as many entries as texts.
bool are_places(const IndexEntries& entries, const TextList& texts);

// Replaces the places by a table's keys of the texts.
void number_places(IndexEntries& entries, const TextList& texts, KeyTable& keys);

// Replaces a table's keys by places, and puts their texts into `texts`, which is empty before.
void put_places(IndexEntries& entries, TextList& texts, const KeyTable& keys);

}  // namespace batchfeed
