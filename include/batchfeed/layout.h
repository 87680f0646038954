// SPDX-License-Identifier: MIT
//
// CNTK's layout of sequences of given lengths, without their data: what it would pad.
#pragma once

#include <batchfeed/minibatch.h>

#include <cstdint>
#include <span>

namespace batchfeed {

// Sequences in their order: the longest gives the steps, and each goes into the first row
// that has room behind those in it.
Layout cntk_layout(std::span<const std::uint32_t> lengths);

}  // namespace batchfeed
