// SPDX-License-Identifier: MIT
//
// What comes through a pipe, unpacked on the way if it is compressed.
#pragma once

#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace batchfeed::compressed {

class Pipe {
 public:
  // Puts bytes into the span and says how many; 0 at the end. May throw.
  using Read = std::function<std::size_t(std::span<std::byte>)>;

  Pipe(std::string name, Read read, const Limits& limits);
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();

  // The next bytes, unpacked: fewer than fit only at the end. Throws Error where what
  // comes is damaged, ends in the middle or exceeds the limits.
  std::size_t read(std::span<std::byte> out);

  bool is_compressed() const noexcept;
  std::uint64_t taken() const noexcept;  // bytes that came out of the pipe so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchfeed::compressed
