// SPDX-License-Identifier: MIT
#include "formats/htk/archive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/cursor.h"
#include "base/piece.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace batchfeed::htk {
namespace {

constexpr std::uint32_t kExponent = 0x7F800000u;

// The loops below have no branches on data, so that compilers vectorise them. They return false if a value is not
// finite.

template <bool swap>
bool in_place(std::byte* data, std::size_t n) noexcept {
  std::uint32_t odd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t v;
    std::memcpy(&v, data + 4 * i, 4);
    if constexpr (swap) {
      v = __builtin_bswap32(v);
      std::memcpy(data + 4 * i, &v, 4);
    }
    odd |= (v & kExponent) == kExponent ? 1u : 0u;
  }
  return odd == 0;
}

template <bool swap>
bool widen(const std::byte* from, double* out, std::size_t n) noexcept {
  std::uint32_t odd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t v;
    std::memcpy(&v, from + 4 * i, 4);
    if constexpr (swap) v = __builtin_bswap32(v);
    odd |= (v & kExponent) == kExponent ? 1u : 0u;
    out[i] = static_cast<double>(std::bit_cast<float>(v));
  }
  return odd == 0;
}

// Copies n floats to `out` and reverses the bytes of each. With `stream`, stores bypass the cache, and `out` must be
// aligned to 16 bytes.
template <bool stream>
bool copy_swapped(const std::byte* from, float* out, std::size_t n) noexcept {
  bool finite = true;
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128i exponent = _mm_set1_epi32(static_cast<int>(kExponent));
  __m128i odd = _mm_setzero_si128();
  for (; i + 4 <= n; i += 4) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 4 * i));
    v = _mm_or_si128(_mm_slli_epi16(v, 8), _mm_srli_epi16(v, 8));
    v = _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0b10'11'00'01), 0b10'11'00'01);
    odd = _mm_or_si128(odd, _mm_cmpeq_epi32(_mm_and_si128(v, exponent), exponent));
    if constexpr (stream) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + i), v);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), v);
    }
  }
  finite = _mm_movemask_epi8(odd) == 0;
#endif
  for (; i < n; ++i) {
    std::uint32_t v;
    std::memcpy(&v, from + 4 * i, 4);
    v = __builtin_bswap32(v);
    finite &= (v & kExponent) != kExponent;
    out[i] = std::bit_cast<float>(v);
  }
  return finite;
}

template <class T>
bool expand(const std::byte* from, bool swap, const float* scale, const float* bias, std::size_t dim,
            std::size_t frames, T* out) noexcept {
  bool finite = true;
  for (std::size_t f = 0; f < frames; ++f) {
    for (std::size_t k = 0; k < dim; ++k, from += 2) {
      std::uint16_t v;
      std::memcpy(&v, from, 2);
      if (swap) v = __builtin_bswap16(v);
      // Computed in single precision, as the reference does: (short + B) / A.
      const float value = (static_cast<float>(static_cast<std::int16_t>(v)) + bias[k]) / scale[k];
      finite = finite && std::isfinite(value);
      out[f * dim + k] = static_cast<T>(value);
    }
  }
  return finite;
}

}  // namespace

Archive::Archive(io::File file) : file_(std::move(file)), header_(read_header(file_)) {
  if (header_.encoding != Encoding::compressed) return;
  scale_.resize(header_.dim);
  bias_.resize(header_.dim);
  const std::uint64_t at = header_.data - std::uint64_t{8} * header_.dim;
  file_.read(at, std::as_writable_bytes(std::span(scale_)));
  file_.read(at + std::uint64_t{4} * header_.dim, std::as_writable_bytes(std::span(bias_)));
  if (header_.big_endian != (std::endian::native == std::endian::big)) {
    for (float& v : scale_) v = byte_swap(v);
    for (float& v : bias_) v = byte_swap(v);
  }
}

template <class T>
bool Archive::read(std::uint64_t first, std::uint64_t count, T* out, Buffer<std::byte>& scratch) const {
  const std::size_t bytes = static_cast<std::size_t>(count) * header_.frame_bytes;
  const std::size_t values = static_cast<std::size_t>(count) * header_.dim;
  const std::uint64_t at = header_.data + first * header_.frame_bytes;
  const bool swap = header_.big_endian != (std::endian::native == std::endian::big);
  if constexpr (std::is_same_v<T, float>) {
    if (header_.encoding == Encoding::f32) {
#if defined(__SSE2__)
      if (swap && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
        // Read piece by piece into scratch, which stays in the cache, and copied from there with stores that bypass it.
        constexpr std::size_t kPiece = piece_bytes(256 << 10);
        scratch.resize(std::min(bytes, kPiece));
        bool finite = true;
        for (std::size_t done = 0; done < bytes;) {
          const std::size_t n = std::min(bytes - done, kPiece);
          file_.read(at + done, {scratch.data(), n});
          finite &= copy_swapped<true>(scratch.data(), out + done / 4, n / 4);
          done += n;
        }
        _mm_sfence();
        return finite;
      }
#endif
      // Read straight into its final place, and swapped there while it is still in the cache.
      std::byte* to = reinterpret_cast<std::byte*>(out);
      file_.read(at, {to, bytes});
      return swap ? in_place<true>(to, values) : in_place<false>(to, values);
    }
  }
  scratch.resize(bytes);
  file_.read(at, {scratch.data(), bytes});
  return take(scratch.data(), count, out);
}

template <class T>
bool Archive::take(const std::byte* from, std::uint64_t count, T* out) const {
  const std::size_t values = static_cast<std::size_t>(count) * header_.dim;
  const bool swap = header_.big_endian != (std::endian::native == std::endian::big);
  switch (header_.encoding) {
    case Encoding::f32:
      if constexpr (std::is_same_v<T, double>) {
        return swap ? widen<true>(from, out, values) : widen<false>(from, out, values);
      } else {
        if (swap) return copy_swapped<false>(from, out, values);
        std::memcpy(out, from, values * sizeof(T));
        return in_place<false>(reinterpret_cast<std::byte*>(out), values);
      }
    case Encoding::compressed:
      return expand(from, swap, scale_.data(), bias_.data(), header_.dim, static_cast<std::size_t>(count), out);
    case Encoding::bytes:
      for (std::size_t i = 0; i < values; ++i) out[i] = static_cast<T>(std::to_integer<unsigned>(from[i]));
      return true;
  }
  return true;
}

template bool Archive::take<float>(const std::byte*, std::uint64_t, float*) const;
template bool Archive::take<double>(const std::byte*, std::uint64_t, double*) const;
template bool Archive::read<float>(std::uint64_t, std::uint64_t, float*, Buffer<std::byte>&) const;
template bool Archive::read<double>(std::uint64_t, std::uint64_t, double*, Buffer<std::byte>&) const;

}  // namespace batchfeed::htk
