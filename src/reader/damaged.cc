// SPDX-License-Identifier: MIT
#include "reader/damaged.h"

#include <batchfeed/error.h>

#include <string>

#include "base/counted.h"

namespace batchfeed::reader {

void expect_within(std::uint64_t invalid, std::uint64_t most) {
  if (invalid <= most) return;
  throw Error(Fault{
      .kind = FaultKind::format,
      .id = "reader.too-many-invalid",
      .what = counted(invalid, "damaged sequence") + ", maxErrors tolerates " + std::to_string(most),
      .hint = "`check()` lists them; to leave them out raise `maxErrors` of the reader, in a configuration of one "
              "with deserializers"});
}

void all_damaged() {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "reader.all-damaged",
                    .what = "every sequence of a sweep is damaged, and all were left out",
                    .hint = "`check()` says where"});
}

}  // namespace batchfeed::reader
