// SPDX-License-Identifier: MIT
#include <batchfeed/survey.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace batchfeed {

namespace {

// A bin is the upper 16 bits of a float. Among negative floats, the lowest value has the greatest bits.
constexpr std::uint32_t kSign = 0x8000, kInfinity = 0x7F80;

float value_of(std::uint32_t bin) { return std::bit_cast<float>(bin << 16); }

// The powers of ten that a double holds exactly.
constexpr auto kTens = [] {
  std::array<double, 23> out = {1};
  for (std::size_t i = 1; i < out.size(); ++i) out[i] = out[i - 1] * 10;
  return out;
}();

// The number in [low, high) with the fewest digits; low >= 0.
double shortest(double low, double high) {
  const auto last = static_cast<int>(kTens.size()) - 1;
  for (int i = last; i >= -last; --i) {
    const double ten = kTens[static_cast<std::size_t>(std::abs(i))];
    // Dividing by a power of ten rounds as parsing the decimal text would; multiplying by 0.1 does not.
    const double out = i < 0 ? std::ceil(low * ten) / ten : std::ceil(low / ten) * ten;
    if (out >= low && out < high) return out;
  }
  return low;
}

}  // namespace

std::uint64_t& ValueCounts::bin(std::size_t i) {
  std::uint16_t& where = where_[i / kTogether];
  if (where == 0) [[unlikely]] {
    counts_.resize(counts_.size() + kTogether);
    where = static_cast<std::uint16_t>(counts_.size() / kTogether);
  }
  return counts_[(where - 1u) * kTogether + i % kTogether];
}

std::uint64_t ValueCounts::count(std::size_t i) const noexcept {
  const std::uint16_t where = where_[i / kTogether];
  return where == 0 ? 0 : counts_[(where - 1u) * kTogether + i % kTogether];
}

// visit(lowest, highest value, count) for every bin of finite values that is not
// empty, in increasing order of values.
template <class Visit>
void ValueCounts::for_each(const Visit& visit) const {
  const auto none = [&](std::uint32_t i) { return where_[i / kTogether] == 0; };
  for (std::uint32_t i = kInfinity; i-- > 0;) {
    if (none(kSign | i)) {
      i -= i % kTogether;
    } else if (const std::uint64_t n = count(kSign | i); n != 0) {
      visit(value_of(kSign | (i + 1)), value_of(kSign | i), n);
    }
  }
  for (std::uint32_t i = 0; i < kInfinity; ++i) {
    if (none(i)) {
      i |= kTogether - 1;
    } else if (const std::uint64_t n = count(i); n != 0) {
      visit(value_of(i), value_of(i + 1), n);
    }
  }
}

void ValueCounts::add(float value, std::uint64_t times) { bin(std::bit_cast<std::uint32_t>(value) >> 16) += times; }

void ValueCounts::add(const ValueCounts& other) {
  for (std::size_t i = 0; i < kBins; ++i) {
    if (other.where_[i / kTogether] == 0) {
      i |= kTogether - 1;
    } else if (const std::uint64_t n = other.count(i); n != 0) {
      bin(i) += n;
    }
  }
}

double ValueCounts::quantile(double q) const {
  std::uint64_t total = 0;
  for_each([&](double, double, std::uint64_t count) { total += count; });
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total)));
  std::uint64_t seen = 0;
  double out = 0;
  for_each([&](double low, double high, std::uint64_t count) {
    // The end nearer to zero belongs to the bin, and is where whole numbers are.
    if (seen < std::max<std::uint64_t>(rank, 1)) out = low < 0 ? -shortest(-high, -low) : shortest(low, high);
    seen += count;
  });
  return out;
}

std::vector<ValueCounts::Bar> ValueCounts::bars(double min, double max, bool whole, std::size_t most) const {
  if (!(min <= max) || most == 0) return {};
  const bool by_number = whole && max - min < static_cast<double>(most) && std::abs(min) <= 256 && std::abs(max) <= 256;
  const std::size_t n = by_number ? static_cast<std::size_t>(max - min) + 1 : min == max ? 1 : most;
  const double width = by_number ? 1 : (max - min) / static_cast<double>(n);
  std::vector<Bar> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    out[i].low = min + width * static_cast<double>(i);
    out[i].high = by_number ? out[i].low : i + 1 == n ? max : out[i].low + width;
  }
  for_each([&](double low, double high, std::uint64_t count) {
    if (by_number) low = high = low < 0 ? high : low;
    low = std::clamp(low, min, max);
    high = std::clamp(high, min, max);
    const auto bar_of = [&](double value) {
      return width > 0 ? std::min(n - 1, static_cast<std::size_t>((value - min) / width)) : 0;
    };
    // The count of a bin that spans several bars is shared among them in proportion.
    const std::size_t last = bar_of(high);
    std::uint64_t left = count;
    for (std::size_t i = bar_of(low); i < last; ++i) {
      const double covered = (out[i].high - std::max(low, out[i].low)) / (high - low);
      const auto share =
          std::min(left, static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * std::max(0.0, covered))));
      out[i].count += share;
      left -= share;
    }
    out[last].count += left;
  });
  return out;
}

}  // namespace batchfeed
