// SPDX-License-Identifier: MIT
//
// Text to typed values, by the reference's rules: what it accepts is accepted,
// what it rejects is a fault at the value's place. No locale is involved.
#pragma once

#include <cstdint>
#include <string>

#include "config/document.h"

namespace batchfeed::config {

// `what` names the value in messages: "Test.reader.maxErrors".
bool parse_bool(Document& doc, const Text& text, const std::string& what);
std::int32_t parse_int(Document& doc, const Text& text, const std::string& what);
// A minus sign wraps, as in the reference, with a warning.
std::uint64_t parse_size(Document& doc, const Text& text, const std::string& what);
// An element of an array, where 3.0 is 3.
std::int32_t parse_int_element(Document& doc, const Text& text, const std::string& what);
double parse_double(Document& doc, const Text& text, const std::string& what);

}  // namespace batchfeed::config
