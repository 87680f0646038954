// SPDX-License-Identifier: MIT
//
// For commands that only look at data, which damage does not end: the first place of each kind
// of damage is told, the others are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "corpus.h"

namespace batchfeed::cli {

// Thread-safe.
class Damage {
 public:
  explicit Damage(Console& console) : console_(console) {}
  Report report();
  void tell_rest();  // tells how many more there were of each kind
  // Throws the Error that must not be passed over: a file outside the folders that may be read.
  void expect_allowed() const;

 private:
  Console& console_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> seen_;
  std::optional<Fault> refused_;
};

// So many unpacked bytes of compressed files stay in memory, as these commands read them more than once.
constexpr std::size_t kLookedAtText = std::size_t{256} << 20;

// A corpus opened to be looked at. `damage` receives what is found while `source` is read, and must outlive it.
struct Looked {
  Corpus corpus;
  std::shared_ptr<Damage> damage;
  std::shared_ptr<const Source> source;
};
// `in_order`: the source is read front to back, so chunks may be so small that they stay in the CPU's cache.
Looked look_at(const CorpusArguments& arguments, Console& console, bool in_order = false);

}  // namespace batchfeed::cli
