// SPDX-License-Identifier: MIT
//
// Where lines begin, 64 bytes of text at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchfeed::ctf {

constexpr std::size_t kLineStep = 64;  // bytes

// Lists the places behind the newlines in the `steps` times 64 bytes from p on, counted from p, in order; returns how
// many. `out` must have room for one for each byte and 16 more.
using LineBegins = std::size_t (*)(const char* p, std::size_t steps, std::uint32_t* out) noexcept;

// The one for this CPU, as `tier` allows (see kernels.h).
LineBegins line_begins(std::string_view tier) noexcept;

}  // namespace batchfeed::ctf
