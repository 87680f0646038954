// SPDX-License-Identifier: MIT
//
// Letting go of the GIL, and asking for it, where Python may end meanwhile. Up to CPython 3.13 a thread that asks
// for it then is unwound by the system, through frames that cannot be, and the process aborts. So daemon threads that
// would come back into Python sleep instead, from when its exit handlers begin.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace batchfeed::python {

namespace nb = nanobind;

class End {
 public:
  // Called by the thread in which Python ends; that thread may take the GIL as before.
  static void begin() noexcept {
    by = std::this_thread::get_id();
    begun = true;
  }
  static void forked() noexcept { asking = 0; }  // other threads than this one are gone
  static bool for_this_thread() noexcept { return begun && by.load() != std::this_thread::get_id(); }

  // Waits until no Asking lives, for so long at most. To be called without the GIL. A thread of the library's that
  // reads a source in Python comes back soon after each call: so none may live for some milliseconds, if one ever did.
  static void wait(double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (int quiet = asked ? 0 : kQuiet; quiet < kQuiet && std::chrono::steady_clock::now() < until; ++quiet) {
      asked = false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (asking > 0 || asked) quiet = -1;
    }
  }

  // While one of these lives, a thread asks for the GIL or has it.
  struct Asking {
    Asking() noexcept {
      ++asking;
      asked = true;
    }
    ~Asking() { --asking; }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
  };

 private:
  inline static std::atomic<bool> begun = false;
  inline static std::atomic<std::thread::id> by;
  inline static std::atomic<int> asking = 0;
  static constexpr int kQuiet = 5;  // ms
  inline static std::atomic<bool> asked = false;
};

// Gives up the GIL, in a thread that has it, for as long as this lives.
class Released {
 public:
  Released() noexcept : state_(PyEval_SaveThread()) {}
  ~Released() {
    {
      const End::Asking here;  // made before the check: either wait() waits for it, or the check sees begin()
      if (!End::for_this_thread()) {
        PyEval_RestoreThread(state_);
        return;
      }
    }
    for (;;) ::pause();
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the GIL for as long as this lives, in any thread. Callers that can do without it skip it where
// End::for_this_thread(); an Asking made before they look keeps Python from ending between the two.
class Acquired {
  const End::Asking here_;
  const nb::gil_scoped_acquire gil_;
};

}  // namespace batchfeed::python
