// SPDX-License-Identifier: MIT
#include <batchfeed/survey.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace batchfeed {

namespace {

// Bins in the order of the values they stand for: from -infinity up to infinity.
// Negative numbers have their greatest bits at the lowest value.
constexpr std::uint32_t kSign = 0x8000, kInfinity = 0x7F80;

float value_of(std::uint32_t bin) { return std::bit_cast<float>(bin << 16); }

// visit(lowest, highest value, count) for every bin of finite values that is not
// empty, in increasing order of values.
template <class Visit>
void for_each(const std::vector<std::uint64_t>& bins, const Visit& visit) {
  for (std::uint32_t i = kInfinity; i-- > 0;) {
    if (bins[kSign | i] != 0) visit(value_of(kSign | (i + 1)), value_of(kSign | i), bins[kSign | i]);
  }
  for (std::uint32_t i = 0; i < kInfinity; ++i) {
    if (bins[i] != 0) visit(value_of(i), value_of(i + 1), bins[i]);
  }
}

}  // namespace

void ValueCounts::add(float value) noexcept { ++bins_[std::bit_cast<std::uint32_t>(value) >> 16]; }

void ValueCounts::add(const ValueCounts& other) noexcept {
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
}

double ValueCounts::quantile(double q) const {
  std::uint64_t total = 0;
  for_each(bins_, [&](double, double, std::uint64_t count) { total += count; });
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total)));
  std::uint64_t seen = 0;
  double out = 0;
  for_each(bins_, [&](double low, double high, std::uint64_t count) {
    // The end nearer to zero is the one that whole numbers stand at.
    if (seen < std::max<std::uint64_t>(rank, 1)) out = low < 0 ? high : low;
    seen += count;
  });
  return out;
}

std::vector<ValueCounts::Bar> ValueCounts::bars(double min, double max, bool whole, std::size_t most) const {
  if (!(min <= max)) return {};
  const bool by_number = whole && max - min < static_cast<double>(most) && std::abs(min) <= 256 && std::abs(max) <= 256;
  const std::size_t n = by_number ? static_cast<std::size_t>(max - min) + 1 : min == max ? 1 : most;
  const double width = by_number ? 1 : (max - min) / static_cast<double>(n);
  std::vector<Bar> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    out[i].low = min + width * static_cast<double>(i);
    out[i].high = by_number ? out[i].low : i + 1 == n ? max : out[i].low + width;
  }
  for_each(bins_, [&](double low, double high, std::uint64_t count) {
    if (by_number) low = high = low < 0 ? high : low;
    low = std::clamp(low, min, max);
    high = std::clamp(high, min, max);
    const auto bar_of = [&](double value) {
      return width > 0 ? std::min(n - 1, static_cast<std::size_t>((value - min) / width)) : 0;
    };
    // A bin that lies in several bars gives each what it covers of the bin.
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
