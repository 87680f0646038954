// SPDX-License-Identifier: MIT
//
// Do two corpora hold the same sequences? Formats, chunks and files may differ.
#pragma once

#include <batchfeed/source.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchfeed {

struct CompareOptions {
  // Values a and b are the same if |a - b| <= tolerance * max(1, |a|, |b|); NaN is NaN.
  double tolerance = 0;
  // Dims of sparse streams must agree; false where one was inferred from the data.
  bool sparse_dims = true;
  bool ignore_keys = false;  // else they are compared if both corpora have keys of their own, or the same ones
  std::uint64_t most = 10;   // differences that are described
  unsigned jobs = 0;         // threads; 0 = one per core
  Progress progress = {};    // bytes of both; may throw to give up
};

// One sequence, as a corpus has it.
struct Located {
  std::uint64_t number = 0;  // in the order of the source, from 0
  std::string key = {};
  Place at = {};
  std::uint64_t line = 0;  // of the sample that differs; 0: not known
};

struct Difference {
  std::optional<Located> a = {}, b = {};  // one of them missing: only the other corpus has it
  std::string what = {};                  // if both are there: "stream 'v', sample 2: [1] is 3.5 and 3.25"
};

struct Comparison {
  std::vector<std::string> streams = {};  // how streams differ; such streams are not compared further
  bool keys = false;                      // keys were compared
  std::uint64_t sequences_a = 0, sequences_b = 0;
  std::uint64_t same = 0;  // sequences in both, wherever they stand
  std::uint64_t changed = 0, only_a = 0, only_b = 0;
  bool same_order = true;  // of those in both
  // Where the order of those in both differs first, and what each has there.
  std::optional<Difference> order = {};
  std::vector<Difference> differences = {};  // changed and only in a, in its order; then only in b

  bool equal() const noexcept { return streams.empty() && changed == 0 && only_a == 0 && only_b == 0 && same_order; }
};

// Reads both once, side by side, and again what differs; memory: some chunks, and from the first difference on
// 32 bytes a sequence of each. A sequence is recognised by its key, where keys are compared, else by its data and its
// place among those that have no equal. Where one corpus is of doubles, its values are
// compared as floats. Damaged sequences count as missing. Throws Error.
Comparison compare(std::shared_ptr<const Source> a, std::shared_ptr<const Source> b,
                   const CompareOptions& options = {});

}  // namespace batchfeed
