// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace batchfeed::testing {

// While it lives, readers use the kernels of this tier (BATCHFEED_CPU).
class Tier {
 public:
  explicit Tier(const char* name) {
    if (const char* before = std::getenv("BATCHFEED_CPU"); before != nullptr) before_ = before;
    ::setenv("BATCHFEED_CPU", name, 1);
  }
  ~Tier() {
    if (before_) {
      ::setenv("BATCHFEED_CPU", before_->c_str(), 1);
    } else {
      ::unsetenv("BATCHFEED_CPU");
    }
  }
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace batchfeed::testing
