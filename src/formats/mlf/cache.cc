// SPDX-License-Identifier: MIT
#include "formats/mlf/cache.h"

#include <utility>

#include "base/cursor.h"
#include "index_cache/index_cache.h"
#include "model/places.h"

namespace batchfeed::mlf {
namespace {

// All that an index depends on: the data, how keys and times are read, and the version of
// these rules.
index_cache::Binding bind(const io::File& file, const MlfOptions& options, KeyMode keys) {
  std::string text = "mlf 1 ";
  text += options.binary ? 'B' : 'T';
  text += options.legacy ? 'L' : '-';
  text += keys == KeyMode::text ? 'T' : keys == KeyMode::hashed ? 'H' : 'N';
  return {.options = std::move(text),
          .size = file.size(),
          .mtime_ns = file.identity().mtime_ns,
          .fingerprint = index_cache::content_fingerprint(file)};
}

// The counts of utterances left out, 8 bytes each, little-endian.
std::string encode(const std::vector<std::uint64_t>& counts) {
  std::string out;
  for (const std::uint64_t n : counts) {
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(n >> shift & 0xFF);
  }
  return out;
}

std::vector<std::uint64_t> decode(const std::string& extra) {
  std::vector<std::uint64_t> out(extra.size() / 8);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = load<std::uint64_t>(extra.data() + 8 * i);
  return out;
}

// A cache is untrusted like any other input: whether its utterances lie inside the file, in order.
bool plausible(const index_cache::Payload& payload, const io::File& file, bool words) {
  std::uint64_t end = 0;
  for (const IndexEntry& e : payload.entries) {
    if (e.begin < end || e.begin > file.size() || e.bytes > file.size() - e.begin || e.bytes == 0 || e.samples == 0)
      return false;
    end = e.begin + e.bytes;
  }
  return !payload.entries.empty() && (!words || are_places(payload.entries, payload.texts));
}

// Why a cache with a valid checksum is still not used; empty if it is used: then its counts are added to `builder`.
std::string why_not(const index_cache::Payload& payload, const io::File& file, bool words, IndexBuilder& builder) {
  if (!plausible(payload, file, words)) return "it is damaged";
  // If the labels themselves are beyond a limit, indexing the file again gives the fault, with its line.
  if (!builder.within_limits(payload.entries, file)) return "it tells of utterances beyond a limit";
  return builder.add_counts(decode(payload.extra), file.path()) ? "" : "it is damaged";
}

}  // namespace

void index_cached(const io::File& file, const MlfOptions& options, const std::function<void()>& index,
                  FaultSink& faults, IndexBuilder& builder) {
  const OpenContext& context = builder.context();
  const bool words = context.keys->mode() != KeyMode::numeric;
  const index_cache::Binding binding = bind(file, options, context.keys->mode());
  const std::vector<std::string> places = index_cache::places(file.path(), options.cache_dir, context.file_system);
  index_cache::Loaded loaded = index_cache::load(places, binding);
  if (loaded.payload) loaded.why = why_not(*loaded.payload, file, words, builder);
  if (!loaded.why.empty()) loaded.payload.reset();
  if (loaded.payload) {
    builder.begin_file(file);
    if (words) number_places(loaded.payload->entries, loaded.payload->texts, *context.keys);
    Position at{.file = file.path(), .has_byte = true};
    for (const IndexEntry& e : loaded.payload->entries) {
      at.byte = e.begin;
      builder.add(e, at);
    }
    return;
  }
  if (!loaded.why.empty()) {
    faults.warning({.kind = FaultKind::stale,
                    .id = "mlf.index-rebuilt",
                    .at = {.file = loaded.path},
                    .what = "the index cache was not used: " + loaded.why,
                    .hint = "it is being built again",
                    .stream = options.name});
  }
  const std::vector<std::uint64_t> before = builder.counts();
  index();
  file.expect_unchanged();
  if (builder.open_end()) return;
  index_cache::Payload payload{.entries = builder.entries_of_file(), .texts = {}, .extra = {}};
  if (payload.entries.empty()) return;  // an empty index is not kept
  std::vector<std::uint64_t> counts = builder.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] -= before[i];
  payload.extra = encode(counts);
  if (words) put_places(payload.entries, payload.texts, *context.keys);
  const index_cache::Stored stored = index_cache::store(places, binding, payload, file.path());
  if (stored.path.empty()) faults.warning(index_cache::not_kept(file.path(), stored));
}

CacheState find_cache(const MlfOptions& options, const std::string& file, const OpenContext& context) {
  const io::File data(file, context.file_system, context.limits);
  const index_cache::Loaded found = index_cache::load(index_cache::places(file, options.cache_dir, context.file_system),
                                                      bind(data, options, context.keys->mode()));
  return {.valid = found.payload.has_value(),
          .path = found.path,
          .why = found.why,
          .utterances = found.payload ? found.payload->entries.size() : 0};
}

}  // namespace batchfeed::mlf
