// SPDX-License-Identifier: MIT
#include "index_cache/index_cache.h"

#include <batchfeed/buffer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>
#include <string_view>
#include <system_error>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "io/atomic_file.h"
#include "io/path_policy.h"

namespace batchfeed::index_cache {
namespace {

constexpr std::uint64_t kMagic = 0x0A7865646E696662u;  // "bfindex\n"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeader = 88, kChecksumAt = 80;
// The longest key that is not itself in the data: a line's number, of up to 20 digits.
constexpr std::uint64_t kMostNumber = 20;

static_assert(sizeof(IndexEntry) == 32 && std::is_trivially_copyable_v<IndexEntry>);

// A buffer for the entries that are read or written at a time; no larger than needed, for corpora of many small files.
Buffer<IndexEntry> some_of(std::uint64_t entries) {
  Buffer<IndexEntry> some;
  some.resize(static_cast<std::size_t>(std::min<std::uint64_t>(entries, IndexEntries::kBlock)));
  return some;
}

template <class Container>
std::span<const std::byte> bytes_of(const Container& all) {
  return std::as_bytes(std::span(all.data(), all.size()));
}

// Swaps to or from the file's byte order; a no-op on little-endian machines.
void to_disk_order(std::span<IndexEntry> entries) {
  if constexpr (std::endian::native != std::endian::little) {
    for (IndexEntry& e : entries)
      e = {byte_swap(e.key), byte_swap(e.begin), byte_swap(e.bytes), byte_swap(e.samples), byte_swap(e.aux)};
  }
}

using RawHeader = std::array<std::byte, kHeader>;

struct Header {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t fingerprint = 0, options = 0, extra = 0, entries = 0, texts = 0, text_bytes = 0, checksum = 0;
};

RawHeader encode(const Header& h) {
  RawHeader out{};
  const auto put = [&](std::size_t at, std::uint64_t value) {
    value = as_stored(value);
    std::memcpy(out.data() + at, &value, 8);
  };
  put(0, kMagic);
  put(8, kVersion);
  put(16, h.size);
  put(24, static_cast<std::uint64_t>(h.mtime_ns));
  put(32, h.fingerprint);
  put(40, h.options);
  put(48, h.extra);
  put(56, h.entries);
  put(64, h.texts);
  put(72, h.text_bytes);
  put(kChecksumAt, h.checksum);
  return out;
}

std::uint64_t field(const RawHeader& raw, std::size_t at) { return batchfeed::load<std::uint64_t>(raw.data() + at); }

Header decode(const RawHeader& raw) {
  return {.size = field(raw, 16),
          .mtime_ns = static_cast<std::int64_t>(field(raw, 24)),
          .fingerprint = field(raw, 32),
          .options = field(raw, 40),
          .extra = field(raw, 48),
          .entries = field(raw, 56),
          .texts = field(raw, 64),
          .text_bytes = field(raw, 72),
          .checksum = field(raw, kChecksumAt)};
}

// Whether the sequences, if there are any, lie inside data of `size` bytes, in order and without overlap, and none is
// empty.
bool plausible(const IndexEntries& entries, std::uint64_t size) {
  std::uint64_t end = 0;
  for (const IndexEntry& e : entries) {
    if (e.begin < end || e.begin > size || e.bytes == 0 || e.bytes > size - e.begin || e.samples == 0) return false;
    end = e.begin + e.bytes;
  }
  return true;
}

// Why a file of `file_bytes` with this header cannot hold the index of the data in `binding`; empty if it may. Every
// count is compared with the bytes that the file has left, before anything is allocated.
std::string_view refuse(const RawHeader& raw, const Header& h, std::uint64_t file_bytes, const Binding& binding) {
  if (field(raw, 0) != kMagic) return "it is no index cache";
  if (field(raw, 8) != kVersion) return "it is of another version";
  if (h.size != binding.size || h.mtime_ns != binding.mtime_ns || h.fingerprint != binding.fingerprint)
    return "the data changed since it was made";
  std::uint64_t left = file_bytes - kHeader;
  const auto take = [&](std::uint64_t count, std::uint64_t each) {
    if (count > left / each) return false;
    left -= count * each;
    return true;
  };
  if (!take(h.options, 1) || !take(h.extra, 1) || !take(h.entries, sizeof(IndexEntry)) || !take(h.texts, 4) ||
      !take(h.text_bytes, 1) || left != 0) {
    return "it is torn";
  }
  if (h.options != binding.options.size()) return "it was made with other options";
  // Each text is the key of at least one entry, and each entry has at least one byte of the data. The file's size is no
  // bound for these counts: a sparse file may be far larger than memory.
  if (h.texts > h.entries || h.entries > h.size || h.extra > kMostExtra) return "it is damaged";
  if (h.text_bytes > add_sat(h.size, mul_sat(h.texts, kMostNumber))) return "it is damaged";
  return {};
}

// Swaps to or from the file's byte order; a no-op on little-endian machines.
void to_disk_order(std::span<std::uint32_t> lengths) {
  if constexpr (std::endian::native != std::endian::little) {
    for (std::uint32_t& length : lengths) length = byte_swap(length);
  }
}

// Whether the sum of the texts' lengths is at most the bytes that there are.
bool fit(const TextList& texts) {
  std::uint64_t sum = 0;
  for (const std::uint32_t length : texts.lengths().span()) sum = add_sat(sum, std::uint64_t{length});
  return sum <= texts.bytes().size();
}

// The payload of one cache file; nothing if it is refused, with the reason in `why`. Throws Error if reading fails.
std::optional<Payload> load_one(const io::File& file, const Binding& binding, std::string& why) {
  const auto refused = [&](std::string_view reason) {
    why = reason;
    return std::nullopt;
  };
  RawHeader raw{};
  if (file.size() < kHeader) return refused("it is too short");
  file.read(0, raw);
  const Header h = decode(raw);
  if (const std::string_view reason = refuse(raw, h, file.size(), binding); !reason.empty()) return refused(reason);

  std::uint64_t at = kHeader;
  RunningHash hash;
  hash.add(raw.data(), kChecksumAt);
  const auto read = [&](std::span<std::byte> out) {
    if (!out.empty()) file.read(at, out);
    at += out.size();
    hash.add(out.data(), out.size());
  };
  std::string options(static_cast<std::size_t>(h.options), '\0');
  read(std::as_writable_bytes(std::span(options)));
  if (options != binding.options) return refused("it was made with other options");
  Payload payload;
  payload.extra.resize(static_cast<std::size_t>(h.extra));
  read(std::as_writable_bytes(std::span(payload.extra)));
  Buffer<IndexEntry> some = some_of(h.entries);
  for (std::uint64_t i = 0; i < h.entries;) {
    const auto part =
        std::span(some.data(), static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), h.entries - i)));
    read(std::as_writable_bytes(part));
    to_disk_order(part);
    for (const IndexEntry& e : part) payload.entries.push_back(e);
    i += part.size();
  }
  payload.entries.close();
  Buffer<std::uint32_t>& lengths = payload.texts.lengths();
  Buffer<char>& texts = payload.texts.bytes();
  lengths.resize(static_cast<std::size_t>(h.texts));
  read(std::as_writable_bytes(std::span(lengths.data(), lengths.size())));
  texts.resize(static_cast<std::size_t>(h.text_bytes));
  read(std::as_writable_bytes(std::span(texts.data(), texts.size())));
  if (hash.value() != h.checksum) return refused("its checksum is wrong");
  to_disk_order({lengths.data(), lengths.size()});
  if (!fit(payload.texts) || !plausible(payload.entries, binding.size)) return refused("it is damaged");
  return payload;
}

}  // namespace

std::uint64_t content_fingerprint(const io::File& file) {
  const std::uint64_t stored = file.identity().size;
  constexpr std::uint64_t kEdge = 64 << 10, kSample = 4 << 10, kSamples = 16;
  Fingerprint print;
  print.add(stored);
  std::vector<std::byte> bytes;
  const auto add = [&](std::uint64_t at, std::uint64_t size) {
    bytes.resize(static_cast<std::size_t>(size));
    file.read_stored(at, bytes);
    print.add(hash_bytes(bytes.data(), bytes.size()));
  };
  const std::uint64_t edge = std::min(kEdge, stored);
  const auto sample = [&](std::uint64_t i) { return stored / (kSamples + 1) * i; };
  const bool large = stored > 2 * kEdge + kSamples * kSample;
  if (large) {  // announces all samples: of a remote file each is a request, and these can run at the same time
    file.will_read(0, edge);
    file.will_read(stored - edge, stored);
    for (std::uint64_t i = 1; i <= kSamples; ++i) file.will_read(sample(i), sample(i) + kSample);
  }
  add(0, edge);
  edge == stored ? static_cast<void>(print.add(hash_bytes(bytes.data(), bytes.size()))) : add(stored - edge, edge);
  if (large) {
    for (std::uint64_t i = 1; i <= kSamples; ++i) add(sample(i), kSample);
  } else if (stored > 2 * kEdge) {
    add(kEdge, stored - 2 * kEdge);
  }
  return print.value();
}

std::vector<std::string> places(const std::string& name, const std::string& directory, const FileSystem& file_system,
                                const std::string& ending) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string data = io::located(name, file_system);
  const bool remote = is_url(data);
  const fs::path absolute = remote ? fs::path(data) : fs::weakly_canonical(fs::absolute(data, ignored), ignored);
  const auto apart = [&](const fs::path& folder) {
    // Away from the data, the name carries a hash of the whole path.
    static constexpr char kHex[] = "0123456789abcdef";
    std::string tag;
    for (std::uint64_t h = hash_text(absolute.native()); tag.size() < 16; h >>= 4) tag += kHex[h & 15];
    const std::string tail = '.' + tag + ending;
    return (folder / (absolute.filename().native().substr(0, NAME_MAX - tail.size()) + tail)).string();
  };
  if (!directory.empty()) return {apart(io::located(directory, file_system))};
  std::vector<std::string> out;
  if (!remote) out.push_back(data + ending);
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && cache[0] == '/') {
    out.push_back(apart(fs::path(cache) / "batchfeed"));
  } else if (home != nullptr && home[0] == '/') {
    out.push_back(apart(fs::path(home) / ".cache" / "batchfeed"));
  }
  return out;
}

Loaded load(const std::vector<std::string>& places, const Binding& binding) {
  Loaded loaded;
  for (const std::string& path : places) {
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found || error) continue;
    loaded.path = path;
    try {
      loaded.payload = load_one(io::File::open_without_following(path), binding, loaded.why);
    } catch (const Error& e) {
      loaded.why = e.fault().what;
    } catch (const std::bad_alloc&) {
      loaded.why = "there is no memory for it";
    }
    if (loaded.payload) {
      loaded.why.clear();
      return loaded;
    }
  }
  return loaded;
}

Stored store(const std::vector<std::string>& places, const Binding& binding, const Payload& payload,
             const std::string& data) {
  const std::span<const std::uint32_t> lengths = payload.texts.lengths().span();
  Header h{.size = binding.size,
           .mtime_ns = binding.mtime_ns,
           .fingerprint = binding.fingerprint,
           .options = binding.options.size(),
           .extra = payload.extra.size(),
           .entries = payload.entries.size(),
           .texts = payload.texts.size(),
           .text_bytes = payload.texts.bytes().size()};
  // Calls take() with all bytes behind the header, piece by piece: once for the checksum, then for each file tried.
  const auto each_piece = [&](const auto& take) {
    take(bytes_of(binding.options));
    take(bytes_of(payload.extra));
    Buffer<IndexEntry> some = some_of(payload.entries.size());
    for (std::size_t i = 0; i < payload.entries.size();) {
      const auto part = std::span(some.data(), payload.entries.read(i, {some.data(), some.size()}));
      to_disk_order(part);
      take(std::as_bytes(part));
      i += part.size();
    }
    std::array<std::uint32_t, 1024> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): `n` of it
    for (std::size_t i = 0; i < lengths.size();) {
      const std::size_t n = std::min(part.size(), lengths.size() - i);
      std::ranges::copy(lengths.subspan(i, n), part.begin());
      to_disk_order(std::span(part).first(n));
      take(std::as_bytes(std::span(part).first(n)));
      i += n;
    }
    take(bytes_of(payload.texts.bytes()));
  };
  RunningHash hash;
  hash.add(encode(h).data(), kChecksumAt);
  each_piece([&](std::span<const std::byte> piece) { hash.add(piece.data(), piece.size()); });
  h.checksum = hash.value();

  Stored stored;
  for (std::size_t i = 0; i < places.size(); ++i) {
    try {
      const std::filesystem::path folder = std::filesystem::path(places[i]).parent_path();
      std::error_code ignored, error;
      if (!folder.empty() && !std::filesystem::exists(folder, ignored) &&
          !std::filesystem::create_directories(folder, error) && error) {
        io::fail("create", folder.string(), error.value());
      }
      io::AtomicFile out(places[i], {.no_more_than = data});
      out.append(encode(h));
      each_piece([&](std::span<const std::byte> piece) { out.append(piece); });
      out.commit();
      return {.path = places[i], .why = {}};
    } catch (const Error& e) {
      // Best effort: a folder that cannot be written has no cache.
      stored.why += (stored.why.empty() ? "" : "; ") + e.fault().at.file + ": " + e.fault().what;
    }
  }
  return stored;
}

Fault not_kept(const std::string& data, const Stored& stored) {
  return {.kind = FaultKind::io,
          .id = "index.not-kept",
          .at = {.file = data},
          .what = "the index could not be kept" + (stored.why.empty() ? "" : ": " + stored.why),
          .hint = "every run builds it again; `cache_dir` names a folder that can be written"};
}

}  // namespace batchfeed::index_cache
