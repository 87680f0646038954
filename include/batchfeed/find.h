// SPDX-License-Identifier: MIT
//
// Sequences found by key or by value, each with its place.
#pragma once

#include <batchfeed/source.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// What a value of a stream is compared with: `features[3] >= 255`.
struct ValueTest {
  enum class Op : std::uint8_t { equal, unequal, less, at_most, greater, at_least };
  std::string stream = {};                  // "length", if no stream has that name: the sequence's samples
  std::optional<std::uint64_t> index = {};  // unset: any value that is stored
  Op op = Op::equal;
  double value = 0;  // NaN equals NaN here
};

// STREAM[INDEX] OP NUMBER, OP being one of = == != < <= > >=, NUMBER also nan, inf,
// -inf; [INDEX] may be missing. Throws Error(usage).
ValueTest parse_value_test(std::string_view text);

struct FindOptions {
  std::vector<std::string> keys = {};  // shell patterns (* ? [a-z]); a sequence's key fits one of them
  std::vector<ValueTest> values = {};  // and each of these holds for one of its values
  bool invert = false;                 // finds the sequences that do not fit instead
  unsigned jobs = 0;                   // threads; 0 = one per core
  Progress progress = {};              // bytes; may throw to give up
};

struct Hit {
  std::uint32_t chunk = 0, place = 0;  // of the sequence, in the chunk's table
  SequenceInfo sequence = {};
  Place at = {};
  // The first value that passed the last test of FindOptions::values; unset if there are no tests.
  std::string stream = {};
  std::uint32_t sample = 0;
  std::uint64_t index = 0;
  double value = 0;
  Element element = Element::f32;  // as the stream holds it
  std::uint64_t values = 0;        // how many pass that test
  std::uint64_t line = 0;          // of the sample; 0: not known
};

// In the order of the source. Damaged sequences are passed over. An index that a
// sparse sample does not hold has the value 0. Data are read only if there are
// values to compare. Throws Error(usage) for streams or indices that are not there.
void find(const Source& source, const FindOptions& options, const std::function<void(const Hit&)>& found);

// The line of a text file with sample number `sample` of a stream that has `samples`
// samples in the sequence at `place`; 0 if the sequence has another number of lines.
std::uint64_t line_of_sample(const Place& place, std::uint64_t samples, std::uint64_t sample) noexcept;

}  // namespace batchfeed
