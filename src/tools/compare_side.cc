// SPDX-License-Identifier: MIT
#include "tools/compare_side.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/threads.h"
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

}  // namespace

Side::Side(std::shared_ptr<const Source> source, const CompareOptions& options, std::uint64_t before, std::uint64_t all)
    : source_(std::move(source)) {
  std::uint64_t done = before;
  in_order<Printed>(
      source_->chunks().size(), threads_of(options.jobs),
      [&](std::uint64_t i, Printed& item) { print(*source_, static_cast<std::uint32_t>(i), item); },
      [&](std::uint64_t i, Printed& item) {
        prints.insert(prints.end(), item.prints.begin(), item.prints.end());
        done += source_->chunks()[static_cast<std::size_t>(i)].bytes;
        if (options.progress) options.progress(done, all);
      });
}

Located Side::locate(std::size_t number) const {
  const Print& print = prints[number];
  source_->sequences(print.chunk, table_);
  const auto s = std::find_if(table_.begin(), table_.end(), [&](const SequenceInfo& i) { return i.row == print.row; });
  return {.number = number,
          .key = s == table_.end() ? "" : source_->key_text(s->key),
          .at = source_->place(print.chunk, print.row)};
}

const Chunk& Side::chunk_of(std::size_t number) const {
  if (loaded_ != prints[number].chunk) source_->read(loaded_ = prints[number].chunk, chunk_);
  return chunk_;
}

}  // namespace batchfeed
