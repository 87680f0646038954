// SPDX-License-Identifier: MIT
#include "tools/compare_side.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/saturate.h"
#include "base/threads.h"
#include "model/total.h"
#include "tools/in_order.h"
#include "tools/row_hash.h"

namespace batchfeed {
namespace {

// A chunk and the hashes of its sequences.
struct Printed {
  Chunk chunk;
  std::vector<SequenceInfo> table;
  std::vector<Print> prints;
};

// Makes equal values equal in bits, for hashing: -0 becomes 0, and every NaN the same NaN (compare_rows.cc counts these
// as equal, too).
template <class T>
void make_alike(Column& column) {
  const std::size_t n = column.values.size() / sizeof(T);
  T* const values = column.as<T>();
  for (std::size_t i = 0; i < n; ++i)
    values[i] = std::isnan(values[i]) ? std::numeric_limits<T>::quiet_NaN() : values[i] + T{0};
}

void print(const Source& source, std::uint32_t c, Printed& item) {
  item.prints.clear();
  source.read(c, item.chunk);
  source.sequences(c, item.table);
  for (Column& column : item.chunk.columns)
    column.element == Element::f32 ? make_alike<float>(column) : make_alike<double>(column);
  RowHash hash;
  for (const SequenceInfo& s : item.table) {
    if (item.chunk.is_invalid(s.row)) continue;
    item.prints.push_back(
        {.key = hash_text(source.key_text(s.key)), .data = hash(item.chunk, s.row, {}), .chunk = c, .row = s.row});
  }
}

// A chunk of the first or of the second corpus.
struct Turn {
  bool second = false;
  std::uint32_t chunk = 0;
};

// All chunks of both, such that of neither many more sequences have been read than of the other.
std::vector<Turn> turns_of(const Source& a, const Source& b) {
  std::vector<Turn> out;
  out.reserve(a.chunks().size() + b.chunks().size());
  std::uint64_t of_a = 0, of_b = 0;
  for (std::uint32_t i = 0, k = 0; i < a.chunks().size() || k < b.chunks().size();) {
    const bool second = k < b.chunks().size() && (i == a.chunks().size() || of_b < of_a);
    out.push_back({.second = second, .chunk = second ? k : i});
    second ? of_b += b.chunks()[k++].sequences : of_a += a.chunks()[i++].sequences;
  }
  return out;
}

// Drops what both begin with. False: they differ behind it.
bool pass(Side& a, Side& b, bool keys) {
  const std::size_t most = std::min(a.prints.size(), b.prints.size());
  std::size_t same = 0;
  while (same < most && a.prints[same].data == b.prints[same].data &&
         (!keys || a.prints[same].key == b.prints[same].key))
    ++same;
  for (Side* const side : {&a, &b}) {
    side->passed += same;
    side->prints.erase(side->prints.begin(), side->prints.begin() + static_cast<std::ptrdiff_t>(same));
  }
  return same == most;
}

}  // namespace

Located Side::locate(std::size_t i) const {
  const Print& print = prints[i];
  source_->sequences(print.chunk, table_);
  const auto s =
      std::find_if(table_.begin(), table_.end(), [&](const SequenceInfo& each) { return each.row == print.row; });
  return {.number = passed + i,
          .key = s == table_.end() ? "" : source_->key_text(s->key),
          .at = source_->place(print.chunk, print.row)};
}

const Chunk& Side::chunk_of(std::size_t i) const {
  if (loaded_ != prints[i].chunk) source_->read(loaded_ = prints[i].chunk, chunk_);
  return chunk_;
}

void read_sides(Side& a, Side& b, bool keys, const CompareOptions& options) {
  const std::vector<Turn> turns = turns_of(a.source(), b.source());
  const std::uint64_t all = add_sat(total(a.source().chunks()).bytes, total(b.source().chunks()).bytes);
  std::uint64_t done = 0;
  bool alike = true;  // so far
  in_order<Printed>(
      turns.size(), threads_of(options.jobs),
      [&](std::uint64_t i, Printed& item) {
        const Turn turn = turns[static_cast<std::size_t>(i)];
        print((turn.second ? b : a).source(), turn.chunk, item);
      },
      [&](std::uint64_t i, Printed& item) {
        const Turn turn = turns[static_cast<std::size_t>(i)];
        Side& side = turn.second ? b : a;
        side.prints.insert(side.prints.end(), item.prints.begin(), item.prints.end());
        alike = alike && pass(a, b, keys);
        done += side.source().chunks()[turn.chunk].bytes;
        if (options.progress) options.progress(done, all);
      });
}

}  // namespace batchfeed
