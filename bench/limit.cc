// SPDX-License-Identifier: MIT
//
// The least time that the machine needs for an epoch on two threads: the bytes of the file are
// read and those of all minibatches written, without parsing, ordering or packing.
//   limit file|shuffled WINDOW DELIVERED SAMPLES MINIBATCH FILE
// file: pieces of 2 MiB are read into a reused buffer, and samples copied from there.
// shuffled: WINDOW bytes of fresh memory are filled first, by reading the file straight into
// them if it has that size, else by copying from a reused buffer. Then samples are gathered
// from the window in random order; the next ones are prefetched into the CPU's cache.
// DELIVERED and MINIBATCH are bytes, of all minibatches and of one. Prints a line of JSON:
// seconds of wall time.
#include <batchfeed/buffer.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using batchfeed::Buffer;

constexpr std::size_t kPiece = std::size_t{2} << 20, kLine = 64, kAhead = 4;
constexpr unsigned kThreads = 2;

struct Work {
  std::size_t window, delivered, samples, minibatch;
  int file;
  std::size_t size;
  std::size_t sample() const { return delivered / samples; }
};

template <class Body>
void on_two(const Body& body) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

void read_all(int file, std::size_t at, std::byte* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::pread(file, to, size, static_cast<off_t>(at));
    if (n <= 0) {
      std::perror("pread");
      std::exit(1);
    }
    at += static_cast<std::size_t>(n);
    to += n;
    size -= static_cast<std::size_t>(n);
  }
}

// Calls body(offset, size) for pieces of the file until none is left; the threads that run this
// share them by `next`, the number of the next piece.
template <class Body>
void for_pieces(const Work& work, std::atomic<std::size_t>& next, const Body& body) {
  for (;;) {
    const std::size_t at = next.fetch_add(1) * kPiece;
    if (at >= work.size) return;
    body(at, std::min(kPiece, work.size - at));
  }
}

// Places for samples, minibatch after minibatch, in a ring of reused buffers.
class Minibatches {
 public:
  explicit Minibatches(const Work& work) : size_(std::max(work.minibatch, work.sample())) {
    for (Buffer<std::byte>& one : ring_) one.resize(size_);
  }
  std::byte* next(std::size_t sample) {
    if (at_ + sample > size_) {
      at_ = 0;
      ring_[0].swap(ring_[1 + turn_++ % 3]);
    }
    std::byte* const to = ring_[0].data() + at_;
    at_ += sample;
    return to;
  }

 private:
  std::size_t size_, at_ = 0, turn_ = 0;
  Buffer<std::byte> ring_[4];
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double in_file_order(const Work& work) {
  const auto began = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next{0};
  on_two([&](unsigned) {
    Minibatches out(work);
    Buffer<std::byte> buffer;
    buffer.resize(kPiece + work.sample());
    for_pieces(work, next, [&](std::size_t at, std::size_t size) {
      read_all(work.file, at, buffer.data(), size);
      const auto samples = static_cast<std::size_t>(static_cast<double>(work.samples) * static_cast<double>(size) /
                                                    static_cast<double>(work.size));
      for (std::size_t i = 0; i < samples; ++i)
        std::memcpy(out.next(work.sample()), buffer.data() + size * i / samples, work.sample());
    });
  });
  return seconds_since(began);
}

double shuffled(const Work& work) {
  std::vector<std::uint32_t> order(work.samples);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const auto began = std::chrono::steady_clock::now();
  const std::size_t sample = work.sample();
  // The window holds the bytes of the file (binary formats), or the values parsed from it (text).
  const bool as_it_is = work.window == work.size;
  const double share = static_cast<double>(work.window) / static_cast<double>(work.size);
  const auto shared = [share](std::size_t n) { return static_cast<std::size_t>(static_cast<double>(n) * share); };
  Buffer<std::byte> window;
  window.resize(work.window + kPiece + sample);
  std::atomic<std::size_t> next{0};
  on_two([&](unsigned) {
    Buffer<std::byte> buffer;
    buffer.resize(std::max(kPiece, shared(kPiece)));
    for_pieces(work, next, [&](std::size_t at, std::size_t size) {
      read_all(work.file, at, as_it_is ? window.data() + at : buffer.data(), size);
      if (!as_it_is) std::memcpy(window.data() + shared(at), buffer.data(), shared(size));
    });
  });
  const std::size_t together = std::max<std::size_t>(1, work.minibatch / std::max<std::size_t>(sample, 1));
  const auto place = [&](std::size_t i) {
    return window.data() + static_cast<std::size_t>(static_cast<double>(order[i]) / static_cast<double>(work.samples) *
                                                    static_cast<double>(work.window)) /
                               16 * 16;
  };
  next = 0;
  on_two([&](unsigned) {
    Minibatches out(work);
    for (;;) {
      const std::size_t first = next.fetch_add(1) * together, last = std::min(first + together, work.samples);
      if (first >= work.samples) return;
      for (std::size_t i = first; i < last; ++i) {
        if (i + kAhead < last) {
          const std::byte* const later = place(i + kAhead);
          for (std::size_t b = 0; b < std::min<std::size_t>(sample, 2048); b += kLine) __builtin_prefetch(later + b);
        }
        std::memcpy(out.next(sample), place(i), sample);
      }
    }
  });
  return seconds_since(began);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("usage: limit file|shuffled WINDOW DELIVERED SAMPLES MINIBATCH FILE\n", stderr);
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)); };
  const int file = ::open(argv[6], O_RDONLY | O_CLOEXEC);
  const off_t size = file < 0 ? -1 : ::lseek(file, 0, SEEK_END);
  if (size < 0) {
    std::perror(argv[6]);
    return 1;
  }
  const Work work{number(2), number(3), number(4), number(5), file, static_cast<std::size_t>(size)};
  const double seconds = std::string(argv[1]) == "shuffled" ? shuffled(work) : in_file_order(work);
  std::printf("{\"wall\": %.6f}\n", seconds);
}
