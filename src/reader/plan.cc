// SPDX-License-Identifier: MIT
#include "reader/plan.h"

#include <algorithm>

namespace batchfeed::reader {

std::exception_ptr located(const TooLong& sequence, const Source& source) noexcept {
  try {
    std::vector<SequenceInfo> table;
    source.sequences(sequence.chunk(), table);
    const auto its = [row = sequence.row()](const SequenceInfo& s) { return s.row == row; };
    Fault fault = sequence.fault();
    fault.what = "sequence '" + source.key_text(std::ranges::find_if(table, its)->key) + "' " + fault.what;
    fault.at = source.place(sequence.chunk(), sequence.row()).position();
    return std::make_exception_ptr(Error(std::move(fault)));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace batchfeed::reader
