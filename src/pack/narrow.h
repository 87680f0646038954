// SPDX-License-Identifier: MIT
//
// Whole numbers from 0 to 255, as pixels are, in a byte each: a quarter of the memory, whose first touch costs
// most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchfeed::pack {

// False if one of the n values is anything else (-0, too); `to` is undefined then.
bool narrow(const float* from, std::size_t n, std::uint8_t* to) noexcept;
// Restores what narrow() was given, bit for bit.
void widen(const std::uint8_t* from, std::size_t n, float* to) noexcept;

}  // namespace batchfeed::pack
