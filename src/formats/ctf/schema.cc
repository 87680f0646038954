// SPDX-License-Identifier: MIT
#include "formats/ctf/schema.h"

#include <algorithm>
#include <limits>

#include "base/counted.h"
#include "base/hash.h"
#include "base/quoted.h"
#include "base/words.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kFewStreams = 8;

std::string of_stream(const std::string& stream, const std::string& what) {
  return stream.empty() ? what : "stream '" + stream + "': " + what;
}

[[noreturn]] void reject(const std::string& file, std::string id, const std::string& stream, const std::string& what,
                         std::string hint = {}) {
  throw Error(Fault{.kind = id.starts_with("limit.") ? FaultKind::limit : FaultKind::config,
                    .id = std::move(id),
                    .at = {.file = file},
                    .what = of_stream(stream, what),
                    .hint = std::move(hint),
                    .stream = stream});
}

const std::string& alias_of(const StreamSpec& spec) noexcept { return spec.alias.empty() ? spec.name : spec.alias; }

// What is wrong with a stream by itself.
void check_spec(const StreamSpec& spec, const std::string& file, const Limits& limits) {
  const std::string& alias = alias_of(spec);
  if (spec.name.empty()) reject(file, "ctf.name", {}, "a stream has an empty name");
  if (std::max(spec.name.size(), alias.size()) > limits.name_bytes) {
    reject(file, "limit.name", std::string(clipped(spec.name)),
           "name or alias above " + counted(limits.name_bytes, "byte"), "raise limits.name_bytes");
  }
  if (alias[0] == '#' || std::any_of(alias.begin(), alias.end(), ends_name)) {
    reject(file, "ctf.alias", spec.name, "alias '" + alias + "' can never be found in a file",
           "an alias has no blank, pipe or control byte and does not start with '#'");
  }
  if (spec.dim == 0) reject(file, "ctf.dim", spec.name, "dim 0, must be at least 1");
  if (spec.dim > limits.dim) {
    reject(file, "limit.dim", spec.name,
           "dim " + std::to_string(spec.dim) + ", the limit is " + std::to_string(limits.dim), "raise limits.dim");
  }
  if (spec.storage == Storage::sparse &&
      spec.dim > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    reject(file, "ctf.dim", spec.name, "dim " + std::to_string(spec.dim) + ", sparse streams go up to 2147483647");
}

}  // namespace

Schema::Schema(const CtfOptions& options, const Limits& limits) {
  const std::string file = options.files.empty() ? std::string() : options.files.front();
  if (options.streams.empty())
    reject(file, "ctf.no-streams", {}, "no stream is declared", "declare at least one stream (name, storage, dim)");
  if (options.streams.size() > limits.streams) {
    reject(file, "limit.streams", {},
           counted(options.streams.size(), "stream") + " are declared, the limit is " + std::to_string(limits.streams),
           "raise limits.streams");
  }
  if (options.chunk_bytes == 0)
    reject(file, "ctf.chunk-size", {}, "chunk size 0, must be at least 1 byte", "33554432 is the default");
  for (const StreamSpec& spec : options.streams) {
    check_spec(spec, file, limits);
    add(spec, options.element, file);
  }
  index_names();
}

// Adds a stream, if it can stand beside those added before.
void Schema::add(const StreamSpec& spec, Element element, const std::string& file) {
  const std::string& alias = alias_of(spec);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (aliases_[i] == alias)
      reject(file, "ctf.alias", spec.name,
             "alias '" + alias + "' is already that of stream '" + streams_[i].name + "'");
    if (same_word(streams_[i].name, spec.name)) {
      reject(file, "ctf.name", spec.name, "name is already taken by stream '" + streams_[i].name + "'",
             "upper and lower case are not told apart");
    }
  }
  if (spec.defines_mb_size) {
    if (main_ != kNone) {
      reject(file, "ctf.main-stream", spec.name,
             "defines the minibatch size, and so does stream '" + streams_[static_cast<std::size_t>(main_)].name + "'",
             "only one stream can");
    }
    main_ = static_cast<int>(streams_.size());
  }
  streams_.push_back({.name = spec.name,
                      .dim = spec.dim,
                      .storage = spec.storage,
                      .element = element,
                      .defines_mb_size = spec.defines_mb_size});
  aliases_.push_back(alias);
}

void Schema::index_names() {
  for (const std::string& alias : aliases_) {
    Name name;
    name.length = static_cast<std::uint32_t>(alias.size());
    name.text = alias.data();
    char head[8] = {};
    std::copy_n(alias.data(), std::min<std::size_t>(8, alias.size()), head);
    name.head = load<std::uint64_t>(head);
    name.mask = alias.size() >= 8 ? ~0ull : (1ull << (8 * alias.size())) - 1;
    names_.push_back(name);
  }
  if (names_.size() > kFewStreams) {
    table_.assign(std::bit_ceil(names_.size() * 2), kNone);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::size_t slot = hash_text(aliases_[i]) & (table_.size() - 1);
      while (table_[slot] != kNone) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<std::int32_t>(i);
    }
  }
}

int Schema::search(const char* p) const noexcept {
  if (table_.empty()) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (matches(names_[i], p)) return static_cast<int>(i);
    }
    return kNone;
  }
  const std::string_view name = name_at(p);
  for (std::size_t slot = hash_text(name) & (table_.size() - 1); table_[slot] != kNone;
       slot = (slot + 1) & (table_.size() - 1)) {
    if (aliases_[static_cast<std::size_t>(table_[slot])] == name) return table_[slot];
  }
  return kNone;
}

std::string_view Schema::nearest(std::string_view name) const {
  if (name.size() > kLongestGuess) return {};
  Nearest nearest(name, edits_below(name));
  for (const std::string& alias : aliases_)
    if (alias.size() <= 128) nearest.offer(alias);
  return nearest.best();
}

std::string_view name_at(const char* p) noexcept {
  const char* end = p;
  while (!ends_name(*end)) ++end;
  return {p, static_cast<std::size_t>(end - p)};
}

}  // namespace batchfeed::ctf
