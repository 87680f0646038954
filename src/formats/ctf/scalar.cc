// SPDX-License-Identifier: MIT
//
// Numbers of up to eight bytes in 64-bit registers, read in two ways. Text with a fixed number of digits, and pairs
// whose indices go up, mostly have the form of the number or pair before: then it is known where one ends, and no load
// waits for it. Others are looked at one by one.
#include "formats/ctf/scalar.h"

#include <array>
#include <new>

namespace batchfeed::ctf {
namespace {

constexpr std::uint64_t kEach = 0x0101010101010101u;

// A mask of the last n (1 to 8) of eight bytes.
constexpr std::uint64_t last_bytes(unsigned n) noexcept { return ~std::uint64_t{0} << (64 - 8 * n); }
// The value c in byte i of eight.
constexpr std::uint64_t byte_at(unsigned i, unsigned c) noexcept { return std::uint64_t{c} << (8 * i); }

bool ends_value(char c) noexcept { return static_cast<unsigned char>(c) <= ' '; }

// The form of a value without its sign, such as "0.25", that ends a word of eight bytes. With a point it has at most
// seven digits, so that these and the power of ten are exact and the division rounds once.
struct ValueForm {
  std::uint64_t bytes;  // a mask of those of the value
  std::uint64_t look;   // '0' for digits, else the point
  std::uint64_t most;   // for each byte 7F less what it xor `look` may be at most
  std::uint64_t front;  // a mask of those before the point
  double ten;           // what the digits are divided by
  bool signs;           // some values had one: looking for it takes half as long again

  // The bytes of the value that ends at `end`, xor `look`.
  std::uint64_t load_from(const char* end) const noexcept { return (load<std::uint64_t>(end - 8) ^ look) & bytes; }
  // Has the high bit of each byte that is not of this form.
  std::uint64_t odd(std::uint64_t v) const noexcept { return (v + most) | v; }
  template <class T>
  T digits(std::uint64_t v) const noexcept {
    const std::uint64_t before = v & front;  // is moved over the point
    return static_cast<T>(static_cast<std::int64_t>(text::spell_eight((v ^ before) + (before << 8))));
  }
  // Indexed by whether there is a minus: signs are as good as random, so a branch would cost more.
  template <class T>
  std::array<T, 2> divisors() const noexcept {
    return {static_cast<T>(ten), static_cast<T>(-ten)};
  }
};

// Learns the form of the value at p. Returns its size in bytes without a sign; 0 if it has no such form.
unsigned learn_value(ValueForm& form, const char* p) noexcept {
  const bool minus = *p == '-';
  p += static_cast<int>(minus);
  const unsigned whole = text::leading_digits(p).count;
  const bool point = p[whole] == '.';
  const unsigned fraction = point ? text::leading_digits(p + whole + 1).count : 0;
  const unsigned size = whole + (point ? 1 : 0) + fraction;
  if (whole + fraction == 0 || size > 8 || !ends_value(p[size])) return 0;
  form = {.bytes = last_bytes(size),
          .look = '0' * kEach,
          .most = 0x76 * kEach,
          .front = 0,
          .ten = static_cast<double>(text::kPower[fraction]),
          .signs = form.signs || minus};
  if (point) {
    form.look ^= byte_at(7 - fraction, '0' ^ '.');
    form.most += byte_at(7 - fraction, 9);
    form.front = byte_at(7 - fraction, 1) - 1;
  }
  return size;
}

// What a stream's samples of before have taught (KernelMemory). Looking for a form that does not come back costs more
// than it saves.
struct Known {
  ValueForm value;
  std::uint32_t end;      // bytes from the blank to the end of the number or pair, without a sign; 0: no form is known
  std::uint32_t colon;    // bytes from the blank to the colon of a pair
  std::uint64_t index;    // a mask of the index's bytes, in a word that the index ends
  std::uint32_t misses;   // forms in a row that came back less than kRun times
  std::uint32_t waiting;  // samples since there were kMisses of them

  static constexpr std::uint32_t kMisses = 8, kWait = 128;
  static constexpr std::uint64_t kRun = 8;

  // Whether to look for the known form in the next sample.
  bool looks() noexcept {
    if (misses == kMisses) {
      if (++waiting < kWait) return false;
      misses = waiting = 0;
    }
    return end != 0;
  }
  void came(std::uint64_t times) noexcept { misses = times < kRun ? misses + 1 : 0; }
};
static_assert(sizeof(Known) <= sizeof(KernelMemory));

Known& known_in(KernelMemory& memory) noexcept { return *std::launder(reinterpret_cast<Known*>(memory.bytes.data())); }

// Learns the form of the number, or the pair, behind the blank at p; false if it has none.
bool learn(Known& known, const char* p) noexcept {
  const unsigned size = learn_value(known.value, p + 1);
  if (size == 0) return false;
  known.end = 1 + size;
  return true;
}
bool learn_pair(Known& known, const char* p) noexcept {
  const unsigned digits = text::leading_digits(p + 1).count, colon = 1 + digits;
  if (digits == 0 || p[colon] != ':') return false;
  const unsigned size = learn_value(known.value, p + colon + 1);
  if (size == 0) return false;
  known.index = last_bytes(digits);
  known.colon = colon;
  known.end = colon + 1 + size;
  return true;
}

// Reads numbers or pairs of the known form from the blank at p on. Returns the byte behind the last of them.
template <bool kSigns, class T>
const char* alike(const Known& known, const char* p, T* out, std::uint64_t most, std::uint64_t& count) noexcept {
  const ValueForm form = known.value;  // a copy: for the compiler, writing to `out` might change `known`
  const std::size_t end = known.end;
  const std::array<T, 2> divisors = form.divisors<T>();
  std::uint64_t n = count;
  while (n < most) {
    const std::size_t minus = kSigns && p[1] == '-' ? 1 : 0;
    const char* const next = p + minus + end;
    const std::uint64_t value = form.load_from(next);
    if ((form.odd(value) & 0x80 * kEach) != 0 || !ends_value(*next)) break;
    out[n++] = form.digits<T>(value) / divisors[minus];
    p = next;
    if (*p != ' ') break;
  }
  count = n;
  return p;
}
template <bool kSigns, class T>
const char* alike_pairs(const Known& known, const char* p, const SparseRoom<T>& room, std::uint64_t& count) noexcept {
  const ValueForm form = known.value;
  const std::size_t end = known.end, colon = known.colon;
  const std::uint64_t dim = room.dim, most = room.capacity, index_bytes = known.index;
  const std::array<T, 2> divisors = form.divisors<T>();
  T* const values = room.values;
  std::int32_t* const indices = room.indices;
  std::uint64_t n = count;
  while (n < most) {
    const std::size_t minus = kSigns && p[colon + 1] == '-' ? 1 : 0;
    const char* const next = p + minus + end;
    const std::uint64_t digits = text::eight_digits(p + colon - 8) & index_bytes, value = form.load_from(next);
    const std::uint64_t odd = (digits + 0x76 * kEach) | digits | form.odd(value);
    if ((odd & 0x80 * kEach) != 0 || p[colon] != ':' || !ends_value(*next)) break;
    const std::uint64_t index = text::spell_eight(digits);
    if (index >= dim) break;
    values[n] = form.digits<T>(value) / divisors[minus];
    indices[n++] = static_cast<std::int32_t>(index);
    p = next;
    if (*p != ' ') break;
  }
  count = n;
  return p;
}

template <class T>
const char* alike(const Known& known, const char* p, T* out, std::uint64_t most, std::uint64_t& count) noexcept {
  return known.value.signs ? alike<true>(known, p, out, most, count) : alike<false>(known, p, out, most, count);
}
template <class T>
const char* alike_pairs(const Known& known, const char* p, const SparseRoom<T>& room, std::uint64_t& count) noexcept {
  return known.value.signs ? alike_pairs<true>(known, p, room, count) : alike_pairs<false>(known, p, room, count);
}

// Reads short numbers (text::read_short) behind single blanks. Returns the blank behind the last of them.
template <class T>
const char* short_values(const char* p, T* out, std::uint64_t most, std::uint64_t& count) noexcept {
  std::uint64_t n = count;
  for (const char* next = p; n < most && (next = text::read_short(p + 1, out[n])) != nullptr; ++n) p = next;
  count = n;
  return p;
}

// Reads pairs of an index of at most seven digits and a value of at most eight bytes behind single blanks. Returns the
// blank behind the last of them. No branch depends on what a value looks like, as no CPU could predict it.
template <class T>
const char* short_pairs(const char* p, const SparseRoom<T>& room, std::uint64_t& count) noexcept {
  T* const values = room.values;
  std::int32_t* const indices = room.indices;
  const std::uint64_t dim = room.dim, most = room.capacity;
  std::uint64_t n = count;
  while (n < most) {
    const std::uint64_t word = text::eight_digits(p + 1), others = text::no_digits(word);
    if (others == 0) break;
    const auto first = static_cast<unsigned>(std::countr_zero(others));  // of the byte behind the index: its bit 7
    const char* const value = p + 2 + first / 8;
    if (value[-1] != ':' || first == 7) break;
    const std::uint64_t index = text::spell_eight(word << ((7 - first) & 63));
    const std::uint64_t bytes = text::eight_digits(value), no_digits = text::no_digits(bytes);
    if (no_digits == 0) break;
    const auto front_end = static_cast<unsigned>(std::countr_zero(no_digits));
    const std::uint64_t point = value[front_end / 8] == '.' ? 1 : 0;
    const std::uint64_t rest = no_digits & (no_digits - point);
    const unsigned end = rest == 0 ? 71 : static_cast<unsigned>(std::countr_zero(rest));
    const char* const next = value + end / 8;
    // Stops unless the value has a digit and a blank behind it, and the index is below dim.
    if ((static_cast<int>(*next != ' ') | static_cast<int>(end == 7 + 8 * point) | static_cast<int>(index >= dim)) != 0)
      break;
    // The digits in front of the point move up by one byte, over it.
    const std::uint64_t up_to_point = (no_digits ^ (no_digits - 1)) & -point, front = bytes & up_to_point;
    const std::uint64_t digits = (bytes ^ front) | ((front << 8) & up_to_point);
    const std::uint64_t mantissa = text::spell_eight(digits << ((7 - end) & 63));
    values[n] = static_cast<T>(static_cast<std::int64_t>(mantissa)) / text::detail::kShortTen<T>[(end - front_end) / 8];
    indices[n++] = static_cast<std::int32_t>(index);
    // Mostly the same as `next`, but found without waiting for the place of the colon.
    const std::uint64_t blanks = zero_bytes(load<std::uint64_t>(p + 8) ^ ' ' * kEach);
    if (next - p > 8 && blanks != 0) [[likely]] {
      p += 8 + std::countr_zero(blanks) / 8;
    } else {
      p = next;
    }
  }
  count = n;
  return p;
}

// Reads numbers or pairs from p on, of one form after the other; one by one where forms hardly come back. `alike` reads
// those of the known form, `each` short ones of any form; both take a place and return where they got to. `learn`
// learns the form at a place.
template <class Alike, class Learn, class Short>
const char* in_turns(Known& known, const char* p, const std::uint64_t& count, const Alike& alike, const Learn& learn,
                     const Short& each) noexcept {
  if (*p == ' ' && known.looks()) p = alike(p);
  while (*p == ' ' && !ends_sample(p[1])) {
    if (known.misses == Known::kMisses || !learn(p)) {
      p = each(p);
      break;
    }
    const std::uint64_t before = count;
    p = alike(p);
    known.came(count - before);
    if (count == before) break;
  }
  return *p == ' ' && ends_sample(p[1]) ? p + 1 : p;
}

template <class T>
const char* dense(const char* p, T* out, DenseRoom& room) noexcept {
  Known& known = known_in(room.memory);
  std::uint64_t count = room.count;
  p = in_turns(
      known, p, count, [&](const char* at) { return alike(known, at, out, room.dim, count); },
      [&](const char* at) { return learn(known, at); },
      [&](const char* at) { return short_values(at, out, room.dim, count); });
  room.count = count;
  return p;
}

template <class T>
const char* sparse(const char* p, SparseRoom<T>& room) noexcept {
  Known& known = known_in(room.memory);
  std::uint64_t count = room.count;
  p = in_turns(
      known, p, count, [&](const char* at) { return alike_pairs(known, at, room, count); },
      [&](const char* at) { return learn_pair(known, at); },
      [&](const char* at) { return short_pairs(at, room, count); });
  room.count = count;
  return p;
}

}  // namespace

const char* dense_scalar(const char* p, float* out, DenseRoom& room) noexcept { return dense(p, out, room); }
const char* dense_scalar(const char* p, double* out, DenseRoom& room) noexcept { return dense(p, out, room); }
const char* sparse_scalar(const char* p, SparseRoom<float>& room) noexcept { return sparse(p, room); }
const char* sparse_scalar(const char* p, SparseRoom<double>& room) noexcept { return sparse(p, room); }

}  // namespace batchfeed::ctf
