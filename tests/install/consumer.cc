// SPDX-License-Identifier: MIT
//
// What a user's program is like: it prints a fault and the library's version.
#include <batchfeed/batchfeed.h>
#include <batchfeed/version.h>

#include <cstdio>

int main() {
  // Naming some fields of an aggregate must not warn.
  const batchfeed::OpenOptions open{.section = "Train.reader", .minibatch_samples = 256};
  const batchfeed::CtfOptions text{.files = {"train.ctf"}, .streams = {{.name = "features", .dim = 784}}};
  if (open.workers || text.streams.at(0).alias != "") return 1;
  const batchfeed::Error error(batchfeed::Fault{.kind = batchfeed::FaultKind::format,
                                                .id = "ctf.index-range",
                                                .at = {.file = "train.ctf", .line = 3, .column = 9},
                                                .what = "index 10 is not below dim 10"});
  std::printf("batchfeed %s: %s\n", BATCHFEED_VERSION, error.what());
  return std::string_view(error.what()) == "train.ctf:3:9: index 10 is not below dim 10" ? 0 : 1;
}
