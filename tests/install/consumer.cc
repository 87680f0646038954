// SPDX-License-Identifier: MIT
//
// What a user's program is like: it prints a fault and the library's version.
#include <batchfeed/error.h>
#include <batchfeed/version.h>

#include <cstdio>

int main() {
  const batchfeed::Error error(batchfeed::Fault{.kind = batchfeed::FaultKind::format,
                                                .id = "ctf.index-range",
                                                .at = {.file = "train.ctf", .line = 3, .column = 9},
                                                .what = "index 10 is not below dim 10"});
  std::printf("batchfeed %s: %s\n", BATCHFEED_VERSION, error.what());
  return std::string_view(error.what()) == "train.ctf:3:9: index 10 is not below dim 10" ? 0 : 1;
}
