// SPDX-License-Identifier: MIT
#include "io/unfinished.h"

#include <batchfeed/writer.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace batchfeed {
namespace io {
namespace {

enum State : int { free_slot, filling, listed, removing };

// A signal may come while a thread lists a file or takes it off the list: who changes the state owns the path.
struct Slot {
  std::atomic<int> state = free_slot;
  std::array<char, 4096> path{};

  bool change(int from, int to) noexcept { return state.compare_exchange_strong(from, to); }
};
static_assert(std::atomic<int>::is_always_lock_free);

std::array<Slot, 64> slots;

}  // namespace

Unfinished::Unfinished(const std::string& path) noexcept : slot_(slots.size()) {
  if (path.size() >= slots.front().path.size()) return;
  for (slot_ = 0; slot_ < slots.size() && !slots[slot_].change(free_slot, filling);) ++slot_;
  if (slot_ == slots.size()) return;
  slots[slot_].path[path.copy(slots[slot_].path.data(), path.size())] = '\0';
  slots[slot_].state = listed;
}

Unfinished::~Unfinished() {
  if (slot_ < slots.size()) slots[slot_].change(listed, free_slot);
}

void remove_unfinished() noexcept {
  const int error = errno;
  for (Slot& slot : slots) {
    if (!slot.change(listed, removing)) continue;
    ::unlink(slot.path.data());
    slot.state = free_slot;
  }
  errno = error;
}

}  // namespace io

void remove_unfinished_files() noexcept { io::remove_unfinished(); }

}  // namespace batchfeed
