// SPDX-License-Identifier: MIT
//
// For commands that look at data: damage does not end them. Of each kind the first
// place is told, the others are counted.
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
  void tell_rest();  // how many more there were
  // Throws Error for what must not be passed over: a file outside the folders that may be read.
  void expect_allowed() const;

 private:
  Console& console_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> seen_;
  std::optional<Fault> refused_;
};

// What compressed files unpack to stays in memory up to here, for it is looked at more than once.
constexpr std::size_t kLookedAtText = std::size_t{256} << 20;

// A corpus opened to be looked at. `damage` goes on hearing of it while it is read.
struct Looked {
  Corpus corpus;
  std::shared_ptr<Damage> damage;
  std::shared_ptr<const Source> source;
};
// `in_order`: it is read from its beginning on, in pieces that stay in the cache.
Looked look_at(const CorpusArguments& arguments, Console& console, bool in_order = false);

}  // namespace batchfeed::cli
