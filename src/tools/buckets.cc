// SPDX-License-Identifier: MIT
#include "tools/buckets.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "io/file.h"
#include "io/folder.h"
#include "model/total.h"
#include "tools/in_order.h"
#include "tools/own_limits.h"

namespace batchfeed {
namespace {

constexpr std::uint64_t kLeastChunk = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostChunk = std::uint64_t{4} << 20;
constexpr std::size_t kMostNames = std::size_t{64} << 10;  // bytes of a bucket's names held before they are written

template <class T>
T get(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

template <class T>
void put(Buffer<std::byte>& to, T value) {
  to.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
}

}  // namespace

Buckets::Buckets(const std::string& target, const std::vector<StreamInfo>& streams, bool keys, std::uint64_t bytes,
                 std::uint64_t memory, std::uint64_t seed)
    : folder_(target + ".tmp.XXXXXX"), streams_(streams), keys_(keys), seed_(seed), rng_(seed) {
  if (::mkdtemp(folder_.data()) == nullptr) io::fail("create", target, errno);
  const std::uint64_t count = std::clamp<std::uint64_t>(bytes / std::max<std::uint64_t>(memory, 1) + 1, 1, kMost);
  const std::uint64_t chunk_bytes = std::clamp(memory / count, kLeastChunk, kMostChunk);
  const CbfWriterOptions options{.streams = streams, .chunk_bytes = chunk_bytes, .durable = false};
  try {
    for (std::uint64_t i = 0; i < count; ++i) {
      buckets_.push_back(std::unique_ptr<Bucket>(new Bucket{
          .sequences = CbfWriter(path(i), options), .names = io::AtomicFile(names_path(i), {.durable = false})}));
    }
  } catch (...) {
    remove();
    throw;
  }
}

Buckets::~Buckets() { remove(); }

void Buckets::remove() noexcept try {
  buckets_.clear();
  io::remove_tree(folder_);
} catch (const std::bad_alloc&) {  // the folder stays; a later run removes it
}

std::string Buckets::path(std::size_t bucket) const { return folder_ + "/" + std::to_string(bucket); }
std::string Buckets::names_path(std::size_t bucket) const { return path(bucket) + ".names"; }

void Buckets::add(const RowRef& row) {
  Bucket& bucket = *buckets_[static_cast<std::size_t>(rng_.below(buckets_.size()))];
  bucket.sequences.append(*row.chunk, row.row);
  Buffer<std::byte>& names = bucket.last_names;
  put(names, row.id);
  if (keys_) {
    put(names, static_cast<std::uint32_t>(row.key.size()));
    names.append(std::as_bytes(std::span(row.key)).data(), row.key.size());
  }
  if (names.size() < kMostNames) return;
  bucket.names.append(names.span());
  names.clear();
}

void Buckets::close() {
  for (auto& bucket : buckets_) {
    bucket->sequences.commit();
    bucket->names.append(std::span<const std::byte>(bucket->last_names.span()));
    bucket->names.commit();
    bucket.reset();
  }
}

void Buckets::Loaded::row(std::size_t i, RowRef& out) const {
  const Row& row = rows_[i];
  out.chunk = &chunks_[row.chunk];
  out.row = row.row;
  const std::byte* const name = names_.data() + row.name;
  out.id = get<std::uint64_t>(name);
  if (keys_) out.key.assign(reinterpret_cast<const char*>(name + 12), get<std::uint32_t>(name + 8));
}

Buckets::Loaded Buckets::load(std::size_t bucket, unsigned jobs) const {
  Loaded out;
  out.keys_ = keys_;
  CbfOptions options;
  options.files = {path(bucket)};
  options.element = streams_.front().element;
  std::unique_ptr<Source> source;
  try {
    source = open_source(options, own_limits());
  } catch (const Error& error) {
    if (error.fault().id == "cbf.no-samples") return out;  // the bucket is empty
    throw;
  }
  const std::vector<ChunkInfo>& chunks = source->chunks();
  out.chunks_.resize(chunks.size());
  struct Nothing {};
  in_order<Nothing>(
      chunks.size(), jobs,
      [&](std::uint64_t c, Nothing&) {
        source->read(static_cast<std::uint32_t>(c), out.chunks_[static_cast<std::size_t>(c)]);
      },
      [](std::uint64_t, Nothing&) {});
  const io::File names(names_path(bucket));
  out.names_.resize(static_cast<std::size_t>(names.size()));
  names.read(0, {out.names_.data(), out.names_.size()});
  out.rows_.reserve(static_cast<std::size_t>(total(chunks).sequences));
  std::uint64_t at = 0;
  const auto take = [&](std::uint64_t bytes) {
    if (bytes > out.names_.size() - at) io::fail("read", names_path(bucket), EIO);
    at += bytes;
  };
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    for (std::uint32_t row = 0; row < chunks[c].sequences; ++row) {
      out.rows_.push_back({c, row, at});
      take(keys_ ? 12 : 8);
      if (keys_) take(get<std::uint32_t>(out.names_.data() + at - 4));
    }
  }
  CounterRng rng(mix64(seed_) + bucket + 1);
  for (std::size_t i = out.rows_.size(); i > 1; --i)
    std::swap(out.rows_[i - 1], out.rows_[static_cast<std::size_t>(rng.below(i))]);
  return out;
}

void Buckets::drop(std::size_t bucket) const {
  io::remove_tree(path(bucket));
  io::remove_tree(names_path(bucket));
}

}  // namespace batchfeed
