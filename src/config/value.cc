// SPDX-License-Identifier: MIT
#include "config/value.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "config/parse.h"

namespace batchfeed::config {
namespace {

struct Integer {
  std::uint64_t magnitude = 0;
  bool negative = false;
};

// Sign and decimal digits; std::from_chars alone would not take a '+'.
Integer parse_integer(Document& doc, const Text& text, const std::string& what, const char* type) {
  std::string_view digits = text.bytes();
  // C's number functions pass over leading white space.
  while (!digits.empty() && (digits.front() == ' ' || (digits.front() >= '\t' && digits.front() <= '\r'))) {
    digits.remove_prefix(1);
  }
  Integer out;
  if (!digits.empty() && (digits.front() == '+' || digits.front() == '-')) {
    out.negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out.magnitude);
  if (code == std::errc::result_out_of_range) {
    doc.fail(text.origin(0), "int-range", what + ": " + quoted(text.bytes()) + " is too large for " + type);
  }
  if (code != std::errc{} || end != digits.data() + digits.size()) {
    doc.fail(text.origin(0), "bad-int", what + ": expected " + type + ", found " + quoted(text.bytes()),
             "write decimal digits only: no blanks, no fraction, no exponent, no unit");
  }
  return out;
}

// "1#INF", "-1#inf", "inf#": the reference's way to write infinity; the sign is lost.
bool is_hash_infinity(std::string_view text) {
  const std::size_t hash = text.find('#');
  return hash != std::string_view::npos && same_word(text.substr(hash), "#INF");
}

}  // namespace

bool parse_bool(Document& doc, const Text& text, const std::string& what) {
  for (const std::string_view yes : {"true", "True", "TRUE", "t", "T", "1"}) {
    if (text.bytes() == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "FALSE", "f", "F", "0", ""}) {
    if (text.bytes() == no) return false;
  }
  doc.fail(text.origin(0), "bad-bool", what + ": expected true or false, found " + quoted(text.bytes()),
           "write true or false");
}

std::int32_t parse_int(Document& doc, const Text& text, const std::string& what) {
  const Integer value = parse_integer(doc, text, what, "an integer");
  const std::uint64_t most = value.negative ? 1ull << 31 : (1ull << 31) - 1;
  if (value.magnitude > most) {
    doc.fail(text.origin(0), "int-range", what + ": " + quoted(text.bytes()) + " does not fit 32 bits",
             "the largest value is 2147483647");
  }
  const auto magnitude = static_cast<std::int64_t>(value.magnitude);
  return static_cast<std::int32_t>(value.negative ? -magnitude : magnitude);
}

std::int32_t parse_int_element(Document& doc, const Text& text, const std::string& what) {
  if (text.bytes().find_first_of(".eE") == std::string_view::npos) return parse_int(doc, text, what);
  const double value = parse_double(doc, text, what);
  if (value != std::floor(value) || std::abs(value) > std::numeric_limits<std::int32_t>::max())
    doc.fail(text.origin(0), "bad-int", what + ": expected an integer, found " + quoted(text.bytes()));
  return static_cast<std::int32_t>(value);
}

std::uint64_t parse_size(Document& doc, const Text& text, const std::string& what) {
  const Integer value = parse_integer(doc, text, what, "a whole number");
  if (!value.negative || value.magnitude == 0) return value.magnitude;
  const std::uint64_t wrapped = 0 - value.magnitude;
  doc.warn(text.origin(0), "negative-size",
           what + ": " + quoted(text.bytes()) + " has a minus sign and becomes " + std::to_string(wrapped),
           "write the number that is meant");
  return wrapped;
}

double parse_double(Document& doc, const Text& text, const std::string& what) {
  std::string_view digits = text.bytes();
  if (is_hash_infinity(digits)) return std::numeric_limits<double>::infinity();
  while (!digits.empty() && (digits.front() == ' ' || (digits.front() >= '\t' && digits.front() <= '\r'))) {
    digits.remove_prefix(1);
  }
  bool negative = false;
  if (!digits.empty() && (digits.front() == '+' || digits.front() == '-')) {
    negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  auto format = std::chars_format::general;
  if (digits.size() > 2 && digits[0] == '0' && lower(digits[1]) == 'x') {
    format = std::chars_format::hex;
    digits.remove_prefix(2);
  }
  double out = 0;
  const bool signed_twice = !digits.empty() && digits.front() == '-';
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out, format);
  if (signed_twice || code != std::errc{} || end != digits.data() + digits.size()) {
    doc.fail(text.origin(0), "bad-double", what + ": expected a number, found " + quoted(text.bytes()));
  }
  return negative ? -out : out;
}

}  // namespace batchfeed::config
