// SPDX-License-Identifier: MIT
//
// Enumerations as words: what options, states, JSON and Python call their values.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace batchfeed {

// Specialised beside an enumeration: `all`, the names of its enumerators from 0 on.
template <class Enum>
struct Names;

template <class Enum>
concept Named = requires {
  Names<Enum>::all;
};

// Empty for a value that is no enumerator.
template <Named Enum>
constexpr std::string_view name(Enum value) noexcept {
  const auto at = static_cast<std::size_t>(value);
  return at < std::size(Names<Enum>::all) ? Names<Enum>::all[at] : std::string_view();
}

// The value of that name; nothing if there is none.
template <Named Enum>
constexpr std::optional<Enum> named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(Names<Enum>::all); ++i)
    if (Names<Enum>::all[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace batchfeed
