// SPDX-License-Identifier: MIT
//
// For tests: a small corpus of a dense stream v of 2 values and a sparse stream t of 10.
#pragma once

#include <batchfeed/convert.h>

#include <cstdint>
#include <memory>
#include <string>

#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::testing {

struct RaggedText {
  int changed = -1;  // a sequence that differs in its values
  int without = -1;  // one that is left out
  int offset = 0;    // of the keys
};

// Sequence k: k % 3 + 1 samples.
inline std::string ragged_text(int n, const RaggedText& but = {}) {
  std::string out;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i <= k % 3 && k != but.without; ++i) {
      out += std::to_string(k + but.offset) + " |v " + std::to_string(k) + (k == but.changed ? ".5 " : " ") +
             std::to_string(i) + " |t 3:1 7:" + std::to_string(k + 1) + "\n";
    }
  }
  return out;
}

// In chunks of a few sequences.
inline std::shared_ptr<const Source> ragged(const ScratchFolder& folder, const std::string& name,
                                            const std::string& content, std::uint64_t chunk_bytes = 64,
                                            Element element = Element::f32, std::uint64_t max_errors = 0) {
  CtfOptions options;
  options.files = {folder.write(name, content)};
  options.streams = {{.name = "v", .dim = 2}, {.name = "t", .storage = Storage::sparse, .dim = 10}};
  options.chunk_bytes = chunk_bytes;
  options.element = element;
  options.max_errors = max_errors;
  return open_source(options);
}

inline std::unique_ptr<Source> binary_source(const std::string& file) {
  CbfOptions options;
  options.files = {file};
  return open_source(options);
}

// The id of the fault that convert() gives; "" if none.
inline std::string refusal(const Source& source, const std::string& target, const ConvertOptions& options) {
  return id_of([&] { convert(source, target, options); });
}

}  // namespace batchfeed::testing
