// SPDX-License-Identifier: MIT
//
// Text to which numbers are appended fast, in their shortest round-trip form; it does not
// initialise memory before writing there.
#pragma once

#include <batchfeed/buffer.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace batchfeed::cli {

class Text {
 public:
  std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }
  void clear() noexcept { bytes_.clear(); }
  void add(char c) { bytes_.push_back(c); }
  void add(std::string_view s) { bytes_.append(s.data(), s.size()); }

  template <class Integer>
  void integer(Integer n) {
    char* const at = room();
    advance(std::to_chars(at, at + kRoom, n).ptr);
  }

  // Adds ,"name":n of a JSON object.
  template <class Integer>
  void field(std::string_view name, Integer n) {
    add(",\"");
    add(name);
    add("\":");
    integer(n);
  }

  // Adds a number; "inf", "-inf" and "nan" stand between `quote`s, as JSON has no words for them.
  template <class Real>
  void real(Real value, std::string_view quote = "\"") {
    if (value >= 0 && value < 10 && value == std::floor(value) && !std::signbit(value)) {
      add(static_cast<char>('0' + static_cast<int>(value)));
    } else if (value == 0) {
      add("-0.0");  // readers of JSON would take -0 for an integer, and lose the sign
    } else if (std::isfinite(value)) {
      char* const at = room();
      advance(std::to_chars(at, at + kRoom, value).ptr);
    } else {
      add(quote);
      add(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
      add(quote);
    }
  }

 private:
  static constexpr std::size_t kRoom = 32;  // bytes of the longest number
  char* room() {
    bytes_.reserve(bytes_.size() + kRoom);
    return bytes_.data() + bytes_.size();
  }
  void advance(const char* end) { bytes_.resize(static_cast<std::size_t>(end - bytes_.data())); }

  Buffer<char> bytes_;
};

}  // namespace batchfeed::cli
