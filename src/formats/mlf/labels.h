// SPDX-License-Identifier: MIT
//
// The key line, label lines and end line of an utterance of a text MLF.
#pragma once

#include <batchfeed/error.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/mlf/states.h"

namespace batchfeed::mlf {

// A run of frames of one class.
struct Segment {
  std::uint32_t state = 0;
  std::uint32_t frames = 0;
};

struct LabelRules {
  const StateList* states = nullptr;  // null: the fourth of four columns is the class
  std::uint64_t classes = 0;          // exclusive bound of a class
  bool whole_numbers = false;         // times must be numbers to their end (legacy)
  bool phone_boundaries = false;      // then a last segment without frames is a damage
};

// Half-open frames of a line.
struct Times {
  std::uint32_t first = 0, stop = 0;
  bool reversed = false;  // it ends before it starts
};

// `.`, perhaps with blanks behind it.
bool is_end_line(std::string_view line) noexcept;

// The utterance's name of a key line as the file spells it: without quotes, `*/`
// and extension. Nothing if it is not quoted.
std::optional<std::string_view> utterance_key(std::string_view line) noexcept;

// Only the times of a label line. Throws Error.
Times parse_times(std::string_view line, const Position& at, std::string_view key, const LabelRules& rules);

struct Labels {
  std::vector<Segment> segments;  // reused
  std::uint32_t frames = 0;
  std::optional<Fault> invalid;  // damage that costs this utterance alone
};

// All of one utterance: `text` is what follows the key line, up to the end line or
// the end of the text; `at` is its first byte. Throws Error for damage that concerns more than this utterance.
void parse_labels(std::string_view text, const Position& at, std::string_view key, const LabelRules& rules,
                  Labels& out);

}  // namespace batchfeed::mlf
