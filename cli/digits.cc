// SPDX-License-Identifier: MIT
#include "digits.h"

#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "format.h"

namespace batchfeed::cli {

namespace {

constexpr std::array<std::string_view, 5> kTypes = {"N", "N[,N...]", "K", "SEED", "BYTES"};
constexpr std::string_view kList = "N[,N...]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The fault of one word, or nothing; zeros in front are taken away. Of bytes the unit is left to who knows units.
std::string fault_of(std::string& word, bool bytes) {
  const auto end = std::find_if_not(word.begin(), word.end(), is_digit);
  const bool whole = end != word.begin() && (end == word.end() || bytes);
  if (!whole) return "expected a whole number, found '" + printable(word) + "'";
  std::uint64_t value = 0;
  if (std::from_chars(word.data(), word.data() + (end - word.begin()), value).ec != std::errc{})
    return "'" + printable(word) + "' is too large a number";
  word.erase(0, std::min(word.find_first_not_of('0'), static_cast<std::size_t>(end - word.begin()) - 1));
  return {};
}

// The same of every word between commas.
std::string fault_of_list(std::string& list) {
  std::string kept;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    std::string word(rest.substr(0, comma));
    if (std::string fault = fault_of(word, false); !fault.empty()) return fault;
    kept += word;
    if (comma == std::string_view::npos) break;
    kept += ',';
    rest.remove_prefix(comma + 1);
  }
  list = std::move(kept);
  return {};
}

void expect_digits(CLI::Option& option) {
  const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) return;
  if (type == kList) {
    option.transform(CLI::Validator([](std::string& list) { return fault_of_list(list); }, ""));
    return;
  }
  const bool bytes = type == "BYTES";
  // In front of those that know units.
  option.transform(CLI::Validator(
      [bytes](std::string& word) {
        return word == "inf" ? std::string() : fault_of(word, bytes);  // without end, where an option knows it
      },
      ""));
}

}  // namespace

void expect_digits(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) expect_digits(*option);
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) expect_digits(*command);
}

}  // namespace batchfeed::cli
