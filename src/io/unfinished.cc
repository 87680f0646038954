// SPDX-License-Identifier: MIT
#include "io/unfinished.h"

#include <batchfeed/writer.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>

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

Unfinished::Unfinished() noexcept {
  ::sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) sigaddset(&ending, signal);
  holds_back_ = ::pthread_sigmask(SIG_BLOCK, &ending, &before_) == 0;
  while (slot_ < slots.size() && !slots[slot_].change(free_slot, filling)) ++slot_;
}

void Unfinished::list(const std::string& path) noexcept {
  if (slot_ < slots.size()) {
    Slot& slot = slots[slot_];
    const bool fits = path.size() < slot.path.size();
    if (fits) slot.path[path.copy(slot.path.data(), path.size())] = '\0';
    slot.state = fits ? listed : free_slot;
    if (!fits) slot_ = slots.size();
  }
  take_signals();
}

Unfinished::~Unfinished() {
  if (slot_ < slots.size() && !slots[slot_].change(listed, free_slot)) slots[slot_].change(filling, free_slot);
  take_signals();
}

void Unfinished::take_signals() noexcept {
  if (holds_back_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  holds_back_ = false;
}

void remove_unfinished() noexcept {
  const int error = errno;
  int patience = 200;  // ms, for threads that have created a file and not yet named it
  for (Slot& slot : slots) {
    for (; patience > 0 && slot.state == filling; --patience) {
      const ::timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
      ::nanosleep(&moment, nullptr);
    }
    if (!slot.change(listed, removing)) continue;
    ::unlink(slot.path.data());
    slot.state = free_slot;
  }
  errno = error;
}

}  // namespace io

void remove_unfinished_files() noexcept { io::remove_unfinished(); }

}  // namespace batchfeed
