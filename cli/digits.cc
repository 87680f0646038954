// SPDX-License-Identifier: MIT
#include "digits.h"

#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "format.h"

namespace batchfeed::cli {

namespace {

constexpr std::array<std::string_view, 5> kTypes = {"N", "N[,N...]", "K", "SEED", "BYTES"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The fault of one word, or nothing; zeros in front are taken away. Of bytes the unit is left to who knows units.
std::string fault_of(std::string& word, bool bytes) {
  if (word == "inf") return {};  // without end, where an option knows it
  const auto end = std::find_if_not(word.begin(), word.end(), is_digit);
  const bool whole = end != word.begin() && (end == word.end() || bytes);
  if (!whole) return "expected a whole number, found '" + printable(word) + "'";
  std::uint64_t value = 0;
  if (std::from_chars(word.data(), word.data() + (end - word.begin()), value).ec != std::errc{})
    return "'" + printable(word) + "' is too large a number";
  word.erase(0, std::min(word.find_first_not_of('0'), static_cast<std::size_t>(end - word.begin()) - 1));
  return {};
}

void expect_digits(CLI::Option& option) {
  const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) return;
  const bool bytes = type == "BYTES";
  // In front of those that know units.
  option.transform(CLI::Validator([bytes](std::string& word) { return fault_of(word, bytes); }, ""));
}

}  // namespace

void expect_digits(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) expect_digits(*option);
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) expect_digits(*command);
}

}  // namespace batchfeed::cli
