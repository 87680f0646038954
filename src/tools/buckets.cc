// SPDX-License-Identifier: MIT
#include "tools/buckets.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "io/file.h"
#include "io/folder.h"

namespace batchfeed {
namespace {

constexpr std::uint64_t kLeastChunk = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostChunk = std::uint64_t{4} << 20;

}  // namespace

Buckets::Buckets(const std::string& target, const std::vector<StreamInfo>& streams, std::uint64_t bytes,
                 std::uint64_t memory, std::uint64_t seed)
    : folder_(target + ".tmp.XXXXXX"), streams_(streams), seed_(seed), rng_(seed) {
  if (::mkdtemp(folder_.data()) == nullptr) io::fail("create", target, errno);
  const std::uint64_t count = std::clamp<std::uint64_t>(bytes / std::max<std::uint64_t>(memory, 1) + 1, 1, kMost);
  const std::uint64_t chunk_bytes = std::clamp(memory / count, kLeastChunk, kMostChunk);
  try {
    for (std::uint64_t i = 0; i < count; ++i) {
      writers_.push_back(std::make_unique<CbfWriter>(
          path(i), CbfWriterOptions{.streams = streams, .chunk_bytes = chunk_bytes, .keys = true, .durable = false}));
    }
  } catch (...) {
    remove();
    throw;
  }
}

Buckets::~Buckets() { remove(); }

void Buckets::remove() noexcept try {
  writers_.clear();
  io::remove_tree(folder_);
} catch (const std::bad_alloc&) {  // a later run clears it away
}

std::string Buckets::path(std::size_t bucket) const { return folder_ + "/" + std::to_string(bucket); }

// Keys may hold anything but a line break; the number in front keeps neighbours apart.
void Buckets::add(const RowRef& row) {
  writers_[static_cast<std::size_t>(rng_.below(writers_.size()))]->append(*row.chunk, row.row,
                                                                          std::to_string(row.id) + ' ' + row.key);
}

void Buckets::close() {
  for (auto& writer : writers_) {
    writer->commit();
    writer.reset();
  }
}

Buckets::Loaded Buckets::load(std::size_t bucket, bool keys) const {
  Loaded out;
  CbfOptions options;
  options.files = {path(bucket)};
  options.element = streams_.front().element;
  std::unique_ptr<Source> source;
  try {
    source = open_source(options);
  } catch (const Error& error) {
    if (error.fault().id == "cbf.no-samples") return out;  // nothing fell into it
    throw;
  }
  out.chunks.resize(source->chunks().size());
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < out.chunks.size(); ++c) {
    source->read(c, out.chunks[c]);
    source->sequences(c, table);
    for (const SequenceInfo& s : table) {
      const std::string text = source->key_text(s.key);
      const std::size_t blank = text.find(' ');
      RowRef& row = out.rows.emplace_back();
      row.chunk = &out.chunks[c];
      row.row = s.row;
      for (std::size_t i = 0; i < blank && i < text.size(); ++i)
        row.id = row.id * 10 + static_cast<std::uint64_t>(text[i] - '0');
      if (keys) row.key = text.substr(blank + 1);
    }
  }
  CounterRng rng(mix64(seed_) + bucket + 1);
  for (std::size_t i = out.rows.size(); i > 1; --i)
    std::swap(out.rows[i - 1], out.rows[static_cast<std::size_t>(rng.below(i))]);
  return out;
}

void Buckets::drop(std::size_t bucket) const {
  io::remove_tree(path(bucket));
  io::remove_tree(path(bucket) + ".keys");
}

}  // namespace batchfeed
