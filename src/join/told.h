// SPDX-License-Identifier: MIT
//
// What a join says of sequences that it leaves out or finds odd.
#pragma once

#include <batchfeed/source.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "join/key_index.h"

namespace batchfeed::join {

using Sources = std::vector<std::unique_ptr<Source>>;  // the first is primary

// "'features', 'labels'"
std::string names_of(const Source& source);
// A count that people can read: 10,000.
std::string grouped(std::uint64_t n);

// An Error(config) whose id is join.`id`.
Error refused(std::string_view id, std::string what, std::string hint);

// What is odd about a sequence of the primary and its partner in another source.
enum class Odd : std::uint8_t {
  missing,  // there is no partner
  other,    // the partner has another length: left out
  shorter,  // the partner lacks frames: damaged
  longer,   // the partner has more frames, of which the last are not used
  unequal   // the partner has another length: delivered as it is
};

// Reports odd sequences: each as it is found, if `each` is set; else counts them, and names the first at the end.
class Told {
 public:
  // `each` as Options say. `sources` must outlive this.
  Told(const Sources& sources, std::function<void(const Fault&)> each);

  // The sequence `own` of the primary's chunk is odd beside its partner of `samples` in source k.
  void add(Odd odd, std::size_t k, const SequenceInfo& own, std::uint32_t chunk, std::uint32_t samples = 0);
  // Sequences of the primary that were left out because of source k.
  std::uint64_t left_out(std::size_t k) const;
  // What there is to say of source k, in which the primary's `total` sequences were looked up.
  void sum_up(std::size_t k, std::uint64_t total, const KeyIndex& index, std::vector<Notice>& out) const;

 private:
  struct Kind {
    std::uint64_t n = 0;
    std::vector<std::uint64_t> first = {};  // keys
  };
  using Kinds = std::array<Kind, 5>;  // by Odd

  void sum_up_unused(std::size_t k, const KeyIndex& index, std::vector<Notice>& out) const;
  const Source& primary() const { return *sources_[0]; }

  const Sources& sources_;
  std::function<void(const Fault&)> each_;
  std::vector<Kinds> kinds_;  // by source
};

}  // namespace batchfeed::join
