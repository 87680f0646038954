// SPDX-License-Identifier: MIT
//
// Every sequence is reduced to two hashes, of its key and of its data. A sequence whose hashes the other
// corpus has, too, is the same; the others are paired, read again and compared value by value.
#include <batchfeed/compare.h>
#include <batchfeed/find.h>
#include <batchfeed/subset.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "tools/compare_rows.h"
#include "tools/compare_side.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

// Sequences by number, [first, last).
struct Range {
  std::size_t first = 0, last = 0;
};

std::vector<std::uint64_t> sorted(const Side& side, Range range, bool keys) {
  std::vector<std::uint64_t> out;
  out.reserve(range.last - range.first);
  for (std::size_t i = range.first; i < range.last; ++i) out.push_back(side.prints[i].whole(keys));
  std::sort(out.begin(), out.end());
  return out;
}

// The numbers of this side's sequences that the other side lacks; of several equal ones the first are taken. `own` and
// `other`: the sorted hashes of both sides.
std::vector<std::size_t> lacking(const Side& side, Range range, const std::vector<std::uint64_t>& own,
                                 const std::vector<std::uint64_t>& other, bool keys) {
  std::vector<std::uint64_t> missing;
  std::set_difference(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(missing));
  std::unordered_map<std::uint64_t, std::uint64_t, SeededHash> left;
  for (const std::uint64_t id : missing) ++left[id];
  std::vector<std::size_t> out;
  for (std::size_t i = range.first; i < range.last && out.size() < missing.size(); ++i) {
    const auto found = left.find(side.prints[i].whole(keys));
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    out.push_back(i);
  }
  return out;
}

// Whether keys can be compared: both corpora have keys of their own, and not just numbers given by order, or both
// have the same keys. Those of sequences that were passed are the same.
bool keys_count(const Side& a, bool own_a, const Side& b, bool own_b) {
  if (own_a && own_b) return true;
  if (a.prints.size() != b.prints.size()) return false;
  std::vector<std::uint64_t> of_a, of_b;
  for (const Print& print : a.prints) of_a.push_back(print.key);
  for (const Print& print : b.prints) of_b.push_back(print.key);
  std::sort(of_a.begin(), of_a.end());
  std::sort(of_b.begin(), of_b.end());
  return of_a == of_b;
}

// The streams that both have with the same name, storage and dim; `wrong` gets the differences of the others. Sparse
// streams that differ only in dim are in both.
std::vector<std::string> shared_streams(const Source& a, const Source& b, bool sparse_dims,
                                        std::vector<std::string>& wrong) {
  std::vector<std::string> shared;
  const auto find = [](const Source& source, const std::string& name) {
    const auto at = std::find_if(source.streams().begin(), source.streams().end(),
                                 [&](const StreamInfo& s) { return s.name == name; });
    return at == source.streams().end() ? nullptr : &*at;
  };
  for (const StreamInfo& s : a.streams()) {
    const StreamInfo* const other = find(b, s.name);
    const std::string name = "stream '" + s.name + "'";
    if (other == nullptr) {
      wrong.push_back(name + " is only in the first");
    } else if (other->storage != s.storage) {
      wrong.push_back(name + " is " + std::string(batchfeed::name(s.storage)) + " and " +
                      std::string(batchfeed::name(other->storage)));
    } else if (other->dim != s.dim && (s.storage == Storage::dense || sparse_dims)) {
      wrong.push_back(name + " has dim " + std::to_string(s.dim) + " and " + std::to_string(other->dim));
      if (s.storage == Storage::sparse) shared.push_back(s.name);
    } else {
      shared.push_back(s.name);
    }
  }
  for (const StreamInfo& s : b.streams()) {
    if (find(a, s.name) == nullptr) wrong.push_back("stream '" + s.name + "' is only in the second");
  }
  return shared;
}

class Comparer {
 public:
  Comparer(std::shared_ptr<const Source> a, std::shared_ptr<const Source> b, const CompareOptions& options)
      : options_(options) {
    expect_source(a.get());
    expect_source(b.get());
    names_ = shared_streams(*a, *b, options.sparse_dims, out_.streams);
    if (names_.empty()) return;
    const bool own_a = has_own_keys(*a), own_b = has_own_keys(*b);
    a = select_streams(std::move(a), names_);
    b = select_streams(std::move(b), names_);
    streams_ = a->streams();
    const bool alike = std::equal(a->streams().begin(), a->streams().end(), b->streams().begin(), b->streams().end(),
                                  [](const StreamInfo& x, const StreamInfo& y) { return x.element == y.element; });
    if (!alike) {
      a = as_floats(std::move(a));
      b = as_floats(std::move(b));
    }
    a_.emplace(std::move(a));
    b_.emplace(std::move(b));
    read_sides(*a_, *b_, !options.ignore_keys, options);
    out_.keys = !options.ignore_keys && keys_count(*a_, own_a, *b_, own_b);
    out_.sequences_a = a_->sequences();
    out_.sequences_b = b_->sequences();
  }

  Comparison run() {
    if (!a_) return std::move(out_);
    trim();
    const std::vector<std::uint64_t> of_a = sorted(*a_, in_a_, out_.keys), of_b = sorted(*b_, in_b_, out_.keys);
    const std::vector<std::size_t> left_a = lacking(*a_, in_a_, of_a, of_b, out_.keys);
    const std::vector<std::size_t> left_b = lacking(*b_, in_b_, of_b, of_a, out_.keys);
    out_.same = out_.sequences_a - left_a.size();
    compare_order(left_a, left_b);
    pair(left_a, left_b);
    return std::move(out_);
  }

 private:
  // Leaves out the sequences that are the same at the beginning, of what was not passed, and at the end. Thereby, if
  // one of several equal sequences is missing, it is reported at the place where it is missing.
  void trim() {
    in_a_.last = a_->prints.size();
    in_b_.last = b_->prints.size();
    const auto same = [&](std::size_t i, std::size_t k) {
      return a_->prints[i].whole(out_.keys) == b_->prints[k].whole(out_.keys);
    };
    while (in_a_.first < in_a_.last && in_b_.first < in_b_.last && same(in_a_.first, in_b_.first)) {
      ++in_a_.first;
      ++in_b_.first;
    }
    while (in_a_.first < in_a_.last && in_b_.first < in_b_.last && same(in_a_.last - 1, in_b_.last - 1)) {
      --in_a_.last;
      --in_b_.last;
    }
  }

  void compare_order(const std::vector<std::size_t>& left_a, const std::vector<std::size_t>& left_b) {
    std::size_t i = in_a_.first, k = in_b_.first;
    auto skip_a = left_a.begin();
    auto skip_b = left_b.begin();
    for (;; ++i, ++k) {
      for (; skip_a != left_a.end() && *skip_a == i; ++skip_a) ++i;
      for (; skip_b != left_b.end() && *skip_b == k; ++skip_b) ++k;
      if (i >= in_a_.last || k >= in_b_.last) return;
      if (a_->prints[i].whole(out_.keys) == b_->prints[k].whole(out_.keys)) continue;
      out_.same_order = false;
      out_.order = Difference{.a = a_->locate(i), .b = b_->locate(k)};
      return;
    }
  }

  // Pairs the sequences without an equal: by key where keys are compared, else in their order.
  void pair(const std::vector<std::size_t>& left_a, const std::vector<std::size_t>& left_b) {
    std::multimap<std::uint64_t, std::size_t> open;
    std::vector<std::size_t> only_b;
    for (std::size_t i = 0; i < left_b.size(); ++i)
      open.emplace_hint(open.end(), out_.keys ? b_->prints[left_b[i]].key : i, left_b[i]);
    for (std::size_t i = 0; i < left_a.size(); ++i) {
      if (!pairs_.empty() && a_->prints[left_a[i]].chunk != a_->prints[pairs_.front().a].chunk) tell_pairs();
      Pair& pair = pairs_.emplace_back(Pair{.a = left_a[i]});
      const auto partner = open.find(out_.keys ? a_->prints[left_a[i]].key : i);
      if (partner == open.end()) continue;
      pair.b = partner->second;
      open.erase(partner);
    }
    tell_pairs();
    for (const auto& [key, number] : open) only_b.push_back(number);
    std::sort(only_b.begin(), only_b.end());
    out_.only_b = only_b.size();
    for (const std::size_t number : only_b) {
      if (room()) out_.differences.push_back({.b = b_->locate(number)});
    }
  }

  // A sequence of the first corpus and its partner in the second, if any. `found` is set only with a tolerance: then
  // all pairs of a chunk of the first are compared before they are told, in the order of the second's chunks.
  struct Pair {
    std::size_t a = 0;
    std::optional<std::size_t> b = {};
    std::optional<RowDifference> found = {};
  };

  void tell_pairs() {
    if (options_.tolerance != 0) {
      std::vector<Pair*> all;
      for (Pair& pair : pairs_) {
        if (pair.b) all.push_back(&pair);
      }
      std::ranges::stable_sort(all, {}, [this](const Pair* pair) { return b_->prints[*pair->b].chunk; });
      for (Pair* pair : all) pair->found = difference(*pair);
    }
    for (const Pair& pair : pairs_) {
      if (pair.b) {
        changed(pair);
        continue;
      }
      ++out_.only_a;
      if (room()) out_.differences.push_back({.a = a_->locate(pair.a)});
    }
    pairs_.clear();
  }

  RowDifference difference(const Pair& pair) const {
    return compare_rows(streams_, a_->chunk_of(pair.a), a_->prints[pair.a].row, b_->chunk_of(*pair.b),
                        b_->prints[*pair.b].row, options_.tolerance);
  }

  void changed(const Pair& pair) {
    if (!room() && !pair.found) {  // the list of differences is full: only counted
      ++out_.changed;
      return;
    }
    const RowDifference found = pair.found ? *pair.found : difference(pair);
    if (!found.differ) {  // the same within the tolerance
      ++out_.same;
      return;
    }
    ++out_.changed;
    if (!room()) return;
    Difference& difference = out_.differences.emplace_back(
        Difference{.a = a_->locate(pair.a), .b = b_->locate(*pair.b), .what = found.what});
    difference.a->line = line_of_sample(difference.a->at, found.samples_a, found.sample);
    difference.b->line = line_of_sample(difference.b->at, found.samples_b, found.sample);
  }

  bool room() const { return out_.differences.size() < options_.most; }

  const CompareOptions& options_;
  Comparison out_;
  std::vector<std::string> names_;
  std::vector<StreamInfo> streams_;
  std::optional<Side> a_, b_;
  Range in_a_, in_b_;
  std::vector<Pair> pairs_;  // of one chunk of the first corpus, not told yet
};

}  // namespace

Comparison compare(std::shared_ptr<const Source> a, std::shared_ptr<const Source> b, const CompareOptions& options) {
  return Comparer(std::move(a), std::move(b), options).run();
}

}  // namespace batchfeed
