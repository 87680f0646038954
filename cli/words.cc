// SPDX-License-Identifier: MIT
#include "words.h"

#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "command.h"
#include "format.h"

namespace batchfeed::cli {

namespace {

constexpr std::array<std::string_view, 5> kTypes = {"N", "N[,N...]", "K", "SEED", "BYTES"};
constexpr std::string_view kList = "N[,N...]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The bits by which the unit behind a count of bytes shifts it: K, M, G and T are powers of 1024, perhaps followed by B
// or iB, in upper or lower case. Below 0 for anything else.
int shift_of(std::string_view unit) {
  std::string word;
  for (const char c : unit) word += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (word.size() > 2 && word.ends_with("IB")) word.erase(word.size() - 2);
  if (word.ends_with('B')) word.pop_back();
  constexpr std::string_view kUnits = "KMGT";
  if (word.empty()) return 0;
  const std::size_t at = word.size() == 1 ? kUnits.find(word.front()) : kUnits.npos;
  return at == kUnits.npos ? -1 : 10 * (static_cast<int>(at) + 1);
}

// The fault of one word; empty if it is sound, and then `word` becomes a decimal number without leading zeros, the unit
// of bytes applied.
std::string fault_of(std::string& word, bool bytes) {
  const auto end = std::find_if_not(word.begin(), word.end(), is_digit);
  const int shift = bytes ? shift_of(std::string_view(end, word.end())) : end == word.end() ? 0 : -1;
  if (end == word.begin() || shift < 0) {
    return std::string("expected a whole number") + (bytes ? " of bytes, such as 33554432, 32M or 1G" : "") +
           ", found '" + printable(word) + "'";
  }
  std::uint64_t value = 0;
  if (std::from_chars(word.data(), word.data() + (end - word.begin()), value).ec != std::errc{} ||
      value > ~std::uint64_t{0} >> shift)
    return "'" + printable(word) + "' is too large a number, expected at most " +
           std::to_string(~std::uint64_t{0} >> shift) + std::string(end, word.end());
  word = std::to_string(value << shift);
  return {};
}

// The same for every word of a comma-separated list.
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

void expect_words(CLI::Option& option) {
  const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  if (type == "FILE" || type == "DIR") {
    option.check(
        [name = option.get_name()](const std::string& word) {
          if (word.empty()) throw UsageError(name + ": the name is empty; hint: is a variable of the shell not set?");
          return std::string();
        },
        "");
  }
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) return;
  if (type == kList) {
    option.transform(CLI::Validator([](std::string& list) { return fault_of_list(list); }, ""));
    return;
  }
  const bool bytes = type == "BYTES";
  option.transform(CLI::Validator(
      [bytes](std::string& word) {
        return word == "inf" ? std::string() : fault_of(word, bytes);  // the option itself checks it
      },
      ""));
}

}  // namespace

void expect_words(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) expect_words(*option);
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) expect_words(*command);
}

}  // namespace batchfeed::cli
