// SPDX-License-Identifier: MIT
#include "model/stream_faults.h"

#include <batchfeed/error.h>

#include <utility>

namespace batchfeed {

void bad_options(const std::string& stream, const char* id, std::string what, std::string hint,
                 const std::string& file) {
  throw Error(Fault{.kind = FaultKind::config,
                    .id = id,
                    .at = {.file = file},
                    .what = "stream '" + stream + "': " + std::move(what),
                    .hint = std::move(hint),
                    .stream = stream});
}

void expect_dim(const std::string& stream, std::uint64_t dim, const Limits& limits) {
  if (dim <= limits.dim) return;
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.dim",
                    .what = "stream '" + stream + "' has dimension " + std::to_string(dim) + ", the limit is " +
                            std::to_string(limits.dim),
                    .hint = "raise limits.dim",
                    .stream = stream});
}

void chunk_too_large() {
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.chunk-values",
                    .what = "a chunk of the join or the file has more than 4294967295 values or samples of a stream",
                    .hint = "use smaller chunks, `chunkSizeInBytes`, or shorter sequences"});
}

}  // namespace batchfeed
