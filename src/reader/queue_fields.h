// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchfeed::reader {

// Reads what planners write into Mark::queue; throws Error (state) where it is cut short or too long.
class QueueFields {
 public:
  explicit QueueFields(const std::vector<std::uint64_t>& fields) : fields_(fields) {}
  std::uint64_t next();
  std::uint32_t next32();
  std::size_t left() const noexcept { return fields_.size() - at_; }
  void expect_end() const;
  [[noreturn]] static void damaged();

 private:
  const std::vector<std::uint64_t>& fields_;
  std::size_t at_ = 0;
};

}  // namespace batchfeed::reader
