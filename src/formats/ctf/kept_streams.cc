// SPDX-License-Identifier: MIT
#include "formats/ctf/kept_streams.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/cursor.h"
#include "formats/ctf/bytes.h"
#include "formats/ctf/ctf.h"
#include "index_cache/index_cache.h"

namespace batchfeed::ctf {
namespace {

constexpr std::uint8_t kHasIds = 1, kTextIds = 2, kAllOfFile = 3;
constexpr std::uint8_t kSparse = 1, kIntegral = 2, kOneHot = 4, kAllOfStream = 7;

template <class T>
void put(std::string& out, T value) {
  if constexpr (std::endian::native != std::endian::little) value = byte_swap(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint8_t flag(bool is, std::uint8_t bit) { return is ? bit : std::uint8_t{0}; }

std::optional<Inferred::Stream> decode_stream(Cursor& in) {
  Inferred::Stream s;
  const auto take = [&](auto& out) {
    const auto field = in.field<std::remove_reference_t<decltype(out)>>();
    if (field) out = *field;
    return field.has_value();
  };
  const auto length = in.field<std::uint32_t>();
  const auto name = length ? in.take(*length, 1) : std::nullopt;
  if (!name) return std::nullopt;
  s.spec.name.assign(reinterpret_cast<const char*>(name->data()), name->size());
  std::uint8_t flags = 0;
  if (!take(s.spec.dim) || !take(flags) || !take(s.min) || !take(s.max) || !take(s.samples) || !take(s.values) ||
      !take(s.odd) || !take(s.sequences) || !take(s.first_byte) || flags > kAllOfStream)
    return std::nullopt;
  s.spec.storage = (flags & kSparse) != 0 ? Storage::sparse : Storage::dense;
  s.integral = (flags & kIntegral) != 0;
  s.one_hot = (flags & kOneHot) != 0;
  return s;
}

}  // namespace

std::string encode(const Inferred& inferred) {
  std::string out;
  put(out, inferred.sequences);
  put(out, static_cast<std::uint8_t>(flag(inferred.has_ids, kHasIds) | flag(inferred.text_ids, kTextIds)));
  for (const Inferred::Stream& s : inferred.streams) {
    put(out, static_cast<std::uint32_t>(s.spec.name.size()));
    out += s.spec.name;
    put(out, s.spec.dim);
    put(out, static_cast<std::uint8_t>(flag(s.spec.storage == Storage::sparse, kSparse) | flag(s.integral, kIntegral) |
                                       flag(s.one_hot, kOneHot)));
    put(out, s.min);
    put(out, s.max);
    for (const std::uint64_t number : {s.samples, s.values, s.odd, s.sequences, s.first_byte}) put(out, number);
  }
  return out;
}

std::optional<Inferred> decode(std::span<const std::byte> bytes, std::uint64_t size, const Limits& limits) {
  Cursor in(bytes);
  const auto sequences = in.field<std::uint64_t>();
  const auto flags = in.field<std::uint8_t>();
  if (!sequences || !flags || *flags > kAllOfFile) return std::nullopt;
  Inferred out{.sequences = *sequences, .has_ids = (*flags & kHasIds) != 0, .text_ids = (*flags & kTextIds) != 0};
  std::set<std::string, std::less<>> names;
  while (in.left() != 0) {
    std::optional<Inferred::Stream> stream = decode_stream(in);
    if (!stream || out.streams.size() == limits.streams) return std::nullopt;
    const std::string& name = stream->spec.name;
    if (name.empty() || name[0] == '#' || std::ranges::any_of(name, ends_name) || name.size() > limits.name_bytes + 1 ||
        !names.insert(name).second || stream->spec.dim == 0 || stream->first_byte >= size)
      return std::nullopt;
    out.streams.push_back(std::move(*stream));
  }
  return out;
}

Inferred kept_or_inferred(const io::File& file, const InferCache& cache, const Progress& progress, const Limits& limits,
                          const FileSystem& file_system) {
  if (!cache.keep || file.size() == 0) return infer(file, ~0ull, progress, limits);
  const index_cache::Binding binding{
      .options = "ctf streams 2 " + std::to_string(limits.streams) + ' ' + std::to_string(limits.name_bytes),
      .size = file.size(),
      .mtime_ns = file.identity().mtime_ns,
      .fingerprint = index_cache::content_fingerprint(file)};
  const std::vector<std::string> places = index_cache::places(file.path(), cache.directory, file_system, ".bfstreams");
  if (!cache.rebuild) {
    const index_cache::Loaded found = index_cache::load(places, binding);
    std::optional<Inferred> kept;
    if (found.payload) kept = decode(std::as_bytes(std::span(found.payload->extra)), file.size(), limits);
    if (kept) {
      for (Inferred::Stream& s : kept->streams) s.file = file.path();
      kept->seen.emplace(file.path(), file.identity());
      return std::move(*kept);
    }
  }
  Inferred out = infer(file, ~0ull, progress, limits);
  index_cache::Payload payload{.entries = {}, .texts = {}, .extra = encode(out)};
  // If it cannot be kept, neither can the index, of which a notice tells.
  if (payload.extra.size() <= index_cache::kMostExtra) (void)index_cache::store(places, binding, payload, file.path());
  return out;
}

}  // namespace batchfeed::ctf
