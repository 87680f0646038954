// SPDX-License-Identifier: MIT
#include "reader/queue_fields.h"

#include <batchfeed/error.h>

namespace batchfeed::reader {

std::uint64_t QueueFields::next() {
  if (at_ == fields_.size()) damaged();
  return fields_[at_++];
}

std::uint32_t QueueFields::next32() {
  const std::uint64_t field = next();
  if (field > 0xFFFFFFFFu) damaged();
  return static_cast<std::uint32_t>(field);
}

void QueueFields::expect_end() const {
  if (at_ != fields_.size()) damaged();
}

void QueueFields::damaged() {
  throw Error(Fault{.kind = FaultKind::state,
                    .id = "state.damaged",
                    .what = "the saved queue of sequences does not fit the data",
                    .hint = "use another saved state"});
}

}  // namespace batchfeed::reader
