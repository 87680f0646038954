// SPDX-License-Identifier: MIT
#include "io/unfinished.h"

#include <batchfeed/writer.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <new>

namespace batchfeed {
namespace io {

enum State : int { free_slot, filling, listed, removing };

// A signal may come while a thread lists a file or takes it off the list: who changes the state owns the path.
struct Unfinished::Slot {
  std::atomic<int> state = free_slot;
  std::array<char, 4096> path{};

  bool change(int from, int to) noexcept { return state.compare_exchange_strong(from, to); }
};
static_assert(std::atomic<int>::is_always_lock_free);

// A part of the list. Never freed, so that a signal handler can walk over it.
struct Unfinished::Slots {
  std::array<Slot, 64> all;
  std::atomic<Slots*> more = nullptr;
};

namespace {
constinit Unfinished::Slots first_part;
}

Unfinished::Slot* Unfinished::take() noexcept {
  for (Slots* part = &first_part;;) {
    for (Slot& slot : part->all)
      if (slot.change(free_slot, filling)) return &slot;
    Slots* more = part->more;
    if (more == nullptr) {
      Slots* const fresh = new (std::nothrow) Slots;
      if (fresh == nullptr) return nullptr;
      if (part->more.compare_exchange_strong(more, fresh))
        more = fresh;
      else
        delete fresh;
    }
    part = more;
  }
}

Unfinished::Unfinished() noexcept {
  ::sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) sigaddset(&ending, signal);
  holds_back_ = ::pthread_sigmask(SIG_BLOCK, &ending, &before_) == 0;
  slot_ = take();
}

void Unfinished::list(const std::string& path) noexcept {
  if (slot_ != nullptr) {
    const bool fits = path.size() < slot_->path.size();
    if (fits) slot_->path[path.copy(slot_->path.data(), path.size())] = '\0';
    slot_->state = fits ? listed : free_slot;
    if (!fits) slot_ = nullptr;
  }
  take_signals();
}

Unfinished::~Unfinished() {
  if (slot_ != nullptr && !slot_->change(listed, free_slot)) slot_->change(filling, free_slot);
  take_signals();
}

void Unfinished::take_signals() noexcept {
  if (holds_back_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  holds_back_ = false;
}

void remove_unfinished() noexcept {
  const int error = errno;
  int patience = 200;  // ms, for threads that have created a file and not yet named it
  for (Unfinished::Slots* part = &first_part; part != nullptr; part = part->more) {
    for (Unfinished::Slot& slot : part->all) {
      for (; patience > 0 && slot.state == filling; --patience) {
        const ::timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
        ::nanosleep(&moment, nullptr);
      }
      if (!slot.change(listed, removing)) continue;
      ::unlink(slot.path.data());
      slot.state = free_slot;
    }
  }
  errno = error;
}

}  // namespace io

void remove_unfinished_files() noexcept { io::remove_unfinished(); }

}  // namespace batchfeed
