// SPDX-License-Identifier: MIT
//
// A fuzz target may hold 64 MiB and 4 times its input at once, as hostile files may
// (docs/reference/limits.md); more is a finding. The linker puts this around it.
#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The linker's names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" int __real_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier)

namespace {

std::atomic<std::int64_t> held = 0, allowed = 0;  // bytes; allowed 0: not counting

void allocated(const volatile void*, std::size_t size) {
  const std::int64_t most = allowed.load(std::memory_order_relaxed);
  if (most == 0) return;
  const std::int64_t now = held.fetch_add(static_cast<std::int64_t>(size)) + static_cast<std::int64_t>(size);
  if (now <= most) return;
  allowed = 0;
  std::fprintf(stderr, "ERROR: memory budget: %lld bytes held, %lld allowed\n", static_cast<long long>(now),
               static_cast<long long>(most));
  std::abort();
}

void freed(const volatile void* block) {
  if (allowed.load(std::memory_order_relaxed) != 0)
    held.fetch_sub(static_cast<std::int64_t>(__sanitizer_get_allocated_size(block)));
}

}  // namespace

extern "C" int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int hooks = __sanitizer_install_malloc_and_free_hooks(allocated, freed);
  if (hooks == 0) std::abort();
  held = 0;
  allowed = (std::int64_t{64} << 20) + 4 * static_cast<std::int64_t>(size);
  const int result = __real_LLVMFuzzerTestOneInput(data, size);
  allowed = 0;
  return result;
}
