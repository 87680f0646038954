// SPDX-License-Identifier: MIT
//
// Clocks that tell work from waiting, and waiting for a core from waiting for
// anything else.
#pragma once

#include <cstdint>

namespace batchfeed::clocks {

double wall() noexcept;
double process_cpu() noexcept;
double thread_cpu() noexcept;

// Seconds that this thread could have run and had no core (Linux; else 0).
double thread_core_wait() noexcept;
// The same of all threads that live now.
double process_core_wait() noexcept;

// Times that this thread went to sleep of itself: for a file, a lock, another thread.
// Losing the core to others does not count.
std::uint64_t thread_sleeps() noexcept;

// Bytes that this process has read so far, from the page cache too (Linux; else 0).
std::uint64_t process_read() noexcept;

}  // namespace batchfeed::clocks
