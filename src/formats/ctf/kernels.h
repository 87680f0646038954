// SPDX-License-Identifier: MIT
//
// Fast code for the common case, chosen once for the CPU at hand. A kernel
// either reads exactly what scan.h reads, or declines; tiers differ in time alone.
#pragma once

#include <string_view>

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

// Reads plain values of a sample from `p` on, which is behind its name or a value.
// `out` is where the sample's values begin; the arrays of a SparseRoom are those of
// the column. Takes as many values as it can decide and adds them to room.count;
// returns the byte behind the last of them, or the byte that ends the sample if it
// got there. Changes nothing else of the room, and writes no further than the room
// allows. There must be 64 readable bytes before and behind the text.
template <class T>
using DenseKernel = const char* (*)(const char* p, T* out, DenseRoom& room) noexcept;
template <class T>
using SparseKernel = const char* (*)(const char* p, SparseRoom<T>& room) noexcept;

template <class T>
struct Kernels {
  DenseKernel<T> dense = nullptr;
  SparseKernel<T> sparse = nullptr;
};

// Those of the tier that `wanted` allows (base/cpu.h).
template <class T>
Kernels<T> kernels_for(std::string_view wanted) noexcept;
// As BATCHFEED_CPU wants it.
template <class T>
Kernels<T> kernels() noexcept;

extern template Kernels<float> kernels_for(std::string_view) noexcept;
extern template Kernels<double> kernels_for(std::string_view) noexcept;
extern template Kernels<float> kernels() noexcept;
extern template Kernels<double> kernels() noexcept;

// How many values scan.h reads where a kernel that has taken `taken` values cannot go on.
inline std::uint64_t turn_after(std::uint64_t taken) noexcept { return taken >= 3 ? 1 : taken == 0 ? 64 : 4; }

// One sample as scan_dense and scan_sparse read it, in turns with a kernel; `kernel` is null where samples are too
// short for one.
template <class T>
inline ScanEnd read_dense(DenseKernel<T> kernel, const char* p, T* out, DenseRoom& room) noexcept {
  if (kernel == nullptr) return scan_dense(p, out, room);
  for (;;) {
    const std::uint64_t before = room.count;
    p = kernel(p, out, room);
    if (ends_sample(*p)) return {p, ScanCode::ok};
    const ScanEnd end = scan_dense(p, out, room, room.count + turn_after(room.count - before));
    if (end.code != ScanCode::pause) return end;
    p = end.at;
  }
}
template <class T>
inline ScanEnd read_sparse(SparseKernel<T> kernel, const char* p, SparseRoom<T>& room) noexcept {
  if (kernel == nullptr) return scan_sparse(p, room);
  for (;;) {
    const std::uint64_t before = room.count;
    p = kernel(p, room);
    if (ends_sample(*p)) return {p, ScanCode::ok};
    const ScanEnd end = scan_sparse(p, room, room.count + turn_after(room.count - before));
    if (end.code != ScanCode::pause) return end;
    p = end.at;
  }
}

}  // namespace batchfeed::ctf
