// SPDX-License-Identifier: MIT
//
// The hot loops: the values of one sample, from behind its name to the byte that
// ends it. Pure functions in the manner of std::from_chars: no allocation, no
// exception, no message. A code says why a scan stopped, `at` is the offending
// token; faults.cc finds the words.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "formats/ctf/bytes.h"
#include "text/number.h"

namespace batchfeed::ctf {

enum class ScanCode : std::uint8_t {
  ok,
  bad_value,    // no number, or something is glued to it
  too_many,     // more values than dim
  bad_index,    // a sparse pair does not start with decimal digits
  no_colon,     // no colon directly behind the index
  index_range,  // index >= dim
  full,         // not damage: no room for the next pair, which starts at `at`
  pause,        // not damage: `until` values are read, the next one or the end is at `at`
};

inline constexpr std::uint64_t kNoPause = ~std::uint64_t{0};

struct ScanEnd {
  const char* at;
  ScanCode code;
};

// What a kernel (kernels.h) remembers of the text of a stream from sample to sample. It changes nothing but time.
struct alignas(64) KernelMemory {
  std::array<std::byte, 512> bytes{};
};

struct DenseRoom {
  std::uint64_t dim;
  KernelMemory& memory;     // of this stream and one thread, and of one tier
  std::uint64_t count = 0;  // values read; goes on from here
  bool overflow = false;    // a value became infinite
};

// Short numbers are tried again at the number given, `taken` having been read up to the n-th.
inline std::uint64_t try_again(std::uint64_t n, std::uint64_t taken) noexcept { return n + (taken == 0 ? 256 : 16); }

// Short numbers (text::read_short) behind single blanks into out[n..most). Gives the blank behind the last of them.
template <class T>
inline const char* short_values(const char* p, T* out, std::uint64_t& n, std::uint64_t most) noexcept {
  for (const char* next = p; n < most && (next = text::read_short(p + 1, out[n])) != nullptr; ++n) p = next;
  return p;
}

// Values into out[room.count..dim). Fewer than dim is no error; the caller fills up.
// With `until` values or more in the room it stops at the next blank.
template <class T>
inline ScanEnd scan_dense(const char* p, T* out, DenseRoom& room, std::uint64_t until = kNoPause) noexcept {
  const std::uint64_t dim = room.dim;
  std::uint64_t n = room.count;
  std::uint64_t turn = n;  // until then numbers of any kind
  bool fresh = true;
  bool overflow = room.overflow;
  ScanCode code = ScanCode::ok;
  for (;;) {
    if (is_blank(*p)) {
      if (n >= turn) {
        if (n >= until) {
          code = ScanCode::pause;
          break;
        }
        const std::uint64_t before = n;
        if (*p == ' ') p = short_values(p, out, n, std::min(dim, until));
        turn = std::min(until, try_again(n, n - before));
        continue;
      }
      fresh = true;
      p = skip_blanks(p + 1);
    }
    if (ends_sample(*p)) break;
    if (n == dim) {
      code = ScanCode::too_many;
      break;
    }
    const char* const next = text::read_number(p, fresh, out[n], overflow);
    // A sign may follow a digit directly and starts the next value.
    if (next == nullptr || (class_of(*next) == Byte::printable && *next != '+' && *next != '-')) {
      code = ScanCode::bad_value;
      break;
    }
    ++n;
    fresh = false;
    p = next;
  }
  room.count = n;
  room.overflow = overflow;
  return {p, code};
}

template <class T>
struct SparseRoom {
  T* values;
  std::int32_t* indices;
  std::uint64_t capacity;
  std::uint64_t dim;  // at most 2^31 - 1
  KernelMemory& memory;
  std::uint64_t count = 0;  // pairs read; goes on from here
  bool overflow = false;
};

// Pairs of an index of at most seven digits and a short number behind single blanks to n, n + 1 ... below `most`. Gives
// the blank behind the last of them.
template <class T>
inline const char* short_pairs(const char* p, const SparseRoom<T>& room, std::uint64_t& n,
                               std::uint64_t most) noexcept {
  T* const values = room.values;
  std::int32_t* const indices = room.indices;
  const std::uint64_t dim = room.dim;
  while (n < most) {
    const std::uint64_t word = text::eight_digits(p + 1);
    const std::uint64_t others = text::no_digits(word);
    if (others == 0) break;
    const auto first = static_cast<unsigned>(std::countr_zero(others));  // eight times its place and 7
    const char* const colon = p + 1 + first / 8;
    if (*colon != ':' || first == 7) break;
    const std::uint64_t index = text::spell_eight(word << ((7 - first) & 63));
    const char* const next = text::read_short(colon + 1, values[n]);
    if (next == nullptr || index >= dim) break;
    indices[n++] = static_cast<std::int32_t>(index);
    // The same place, mostly, without waiting for the colon's.
    const std::uint64_t blanks = zero_bytes(load<std::uint64_t>(p + 8) ^ 0x2020202020202020u);
    if (next - p > 8 && blanks != 0) [[likely]] {
      p += 8 + std::countr_zero(blanks) / 8;
    } else {
      p = next;
    }
  }
  return p;
}

// Pairs index:value in the order of the file, until there are `until` or more in the room.
template <class T>
inline ScanEnd scan_sparse(const char* p, SparseRoom<T>& room, std::uint64_t until = kNoPause) noexcept {
  std::uint64_t n = room.count;
  std::uint64_t turn = n;  // until then numbers of any kind
  bool overflow = room.overflow;
  ScanCode code = ScanCode::ok;
  for (;;) {
    if (n >= turn) {
      if (n >= until) {
        code = ScanCode::pause;
        break;
      }
      const std::uint64_t before = n;
      if (*p == ' ') p = short_pairs(p, room, n, std::min(room.capacity, until));
      turn = std::min(until, try_again(n, n - before));
      continue;
    }
    p = skip_blanks(p);
    if (ends_sample(*p)) break;
    if (n == room.capacity) {
      code = ScanCode::full;
      break;
    }
    std::uint64_t index = 0;
    const text::UnsignedEnd digits = text::read_unsigned(p, index);
    if (digits.at == p) {
      code = ScanCode::bad_index;
      break;
    }
    if (*digits.at != ':') {
      code = ScanCode::no_colon;
      break;
    }
    if (digits.overflow || index >= room.dim) {
      code = ScanCode::index_range;
      break;
    }
    const char* const next = text::read_number(digits.at + 1, true, room.values[n], overflow);
    if (next == nullptr || class_of(*next) == Byte::printable) {
      p = digits.at + 1;
      code = ScanCode::bad_value;
      break;
    }
    room.indices[n++] = static_cast<std::int32_t>(index);
    p = next;
  }
  room.count = n;
  room.overflow = overflow;
  return {p, code};
}

}  // namespace batchfeed::ctf
