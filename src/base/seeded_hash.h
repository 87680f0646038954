// SPDX-License-Identifier: MIT
//
// For tables whose keys come out of files: the seed is another one in every process, so no file can be written
// whose keys all meet in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchfeed {

std::uint64_t table_seed() noexcept;

struct SeededHash {
  std::uint64_t seed = table_seed();
  std::size_t operator()(std::uint64_t key) const noexcept;
  std::size_t operator()(std::string_view text) const noexcept;
};

}  // namespace batchfeed
