// SPDX-License-Identifier: MIT
//
// The hot loops: the values of one sample, from behind its name to the byte that
// ends it. Pure functions in the manner of std::from_chars: no allocation, no
// exception, no message. A code says why a scan stopped, `at` is the offending
// token; faults.cc finds the words.
#pragma once

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

// Values into out[room.count..dim). Fewer than dim is no error; the caller fills up.
// With `until` values or more in the room it stops at the next blank.
template <class T>
inline ScanEnd scan_dense(const char* p, T* out, DenseRoom& room, std::uint64_t until = kNoPause) noexcept {
  const std::uint64_t dim = room.dim;
  std::uint64_t n = room.count;
  bool fresh = true;
  bool overflow = room.overflow;
  ScanCode code = ScanCode::ok;
  for (;;) {
    if (is_blank(*p)) {
      if (n >= until) {
        code = ScanCode::pause;
        break;
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

// Pairs index:value in the order of the file, until there are `until` or more in the room.
template <class T>
inline ScanEnd scan_sparse(const char* p, SparseRoom<T>& room, std::uint64_t until = kNoPause) noexcept {
  std::uint64_t n = room.count;
  bool overflow = room.overflow;
  ScanCode code = ScanCode::ok;
  for (;;) {
    if (n >= until) {
      code = ScanCode::pause;
      break;
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
