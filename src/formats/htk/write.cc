// SPDX-License-Identifier: MIT
//
// Frames become an archive and its list, or a file for each utterance. A header
// counts frames, so an archive's is written again when all are known.
#include <batchfeed/speech_writer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/counted.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "formats/htk/header.h"
#include "formats/htk/scp.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/sys.h"

namespace batchfeed {
namespace htk {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostFrames = 0x7FFFFFFF;  // the header counts them in an int32
constexpr std::uint64_t kMostDim = 65535 / 4;      // and the bytes of one in 16 bits
constexpr std::uint32_t kMostPeriod = 10'000'000;  // a second
constexpr std::size_t kFlush = std::size_t{1} << 20;

[[noreturn]] void refuse(const char* id, const std::string& file, std::string what, std::string hint) {
  throw Error(Fault{
      .kind = FaultKind::usage, .id = id, .at = {.file = file}, .what = std::move(what), .hint = std::move(hint)});
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}

std::vector<std::byte> head(const HtkWriterOptions& options, std::uint64_t frames) {
  std::vector<std::byte> out;
  put(out, static_cast<std::uint32_t>(frames));
  put(out, options.period);
  put(out, static_cast<std::uint16_t>(options.dim * 4));
  put(out, options.kind);
  return out;
}

// Values are plain floats whatever the header says, and readers tell the order of its bytes by the period.
void check_head(const HtkWriterOptions& options, const std::string& path) {
  if (kind_text(options.kind).empty() || (options.kind & 077) == 12 ||
      (options.kind & (kCompressed | kChecksum | kVq)) != 0) {
    refuse("htk.write-kind", path, "kind " + std::to_string(options.kind) + " cannot be written",
           "htk_kind() gives the numbers of those that can");
  }
  if (options.period == 0 || options.period > kMostPeriod)
    refuse("htk.write-period", path,
           "frames of " + std::to_string(options.period) + " x 100 ns, expected 1 to " + std::to_string(kMostPeriod),
           "100000 are 10 ms");
}

// Whether an scp line gives this key back, its extension taken off.
void check_key(std::string_view key, const std::string& path) {
  const bool blank = !key.empty() && (kBlanks.find(key.front()) != key.npos || kBlanks.find(key.back()) != key.npos);
  if (!key.empty() && !blank && key.find_first_of(std::string_view("=\n\r\0", 4)) == key.npos) return;
  refuse("htk.write-key", path, "a list cannot hold the key '" + std::string(key.substr(0, 80)) + "'",
         "keys of a list are not empty, have no '=' or line break, and no blank at their ends; number the sequences");
}

// Keys become names of files beneath one folder, never above it.
void check_name(std::string_view key, const std::string& path) {
  for (std::size_t from = 0; from <= key.size();) {
    const std::size_t end = std::min(key.find('/', from), key.size());
    const std::string_view part = key.substr(from, end - from);
    if (part.empty() || part == "." || part == ".." || part.size() > 200 || part.find('[') != part.npos) {
      refuse("htk.write-name", path, "the key '" + std::string(key.substr(0, 80)) + "' cannot name a file",
             "write one archive, or number the sequences");
    }
    from = end + 1;
  }
}

}  // namespace
}  // namespace htk

struct HtkWriter::Impl {
  Impl(std::string file, HtkWriterOptions wanted)
      : path(std::move(file)), options(wanted), target(companion(path, options.layout)) {
    if (options.dim == 0 || options.dim > htk::kMostDim) {
      htk::refuse("htk.write-dim", path,
                  "frames of " + counted(options.dim, "value") + ", a parameter file holds 1 to " +
                      std::to_string(htk::kMostDim),
                  "write another format");
    }
    htk::check_head(options, path);
    name = htk::fs::path(target).filename().string();
    if (name.find('[') != std::string::npos)
      htk::refuse("htk.write-name", path, "'" + name + "' has a bracket, which would begin a range in the list",
                  "choose another name");
    if (options.layout == HtkLayout::files) {
      std::error_code none;
      if (target.find('\0') != std::string::npos) io::fail("create", target, EINVAL);
      if (!options.replace && htk::fs::exists(htk::fs::symlink_status(target, none))) io::refuse_existing(target);
      io::remove_leftovers(target);
      folder = target + ".tmp.XXXXXX";
      if (io::make_folder(folder.data()) != 0) io::fail("create", target, errno);
    } else {
      archive.emplace(options.layout == HtkLayout::single ? path : target,
                      io::AtomicFileOptions{.replace = options.replace});
      archive->append(htk::head(options, 0));
    }
    try {
      if (options.layout != HtkLayout::single) list.emplace(path, io::AtomicFileOptions{.replace = options.replace});
    } catch (...) {
      drop_folder();
      throw;
    }
  }

  ~Impl() { drop_folder(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void drop_folder() {
    std::error_code none;
    if (!folder.empty()) htk::fs::remove_all(std::exchange(folder, {}), none);
  }

  void add(std::string_view key, std::uint64_t count, const float* values) {
    if (state != State::open) io::refuse_written(path);
    if (options.layout == HtkLayout::single) {
      if (utterances > 0)
        htk::refuse("htk.write-single", path, "a parameter file alone holds one utterance, there are more",
                    "write a list: name the target .scp");
    } else {
      htk::check_key(key, path);
    }
    if (count == 0)
      htk::refuse("htk.write-empty", path, "utterance '" + std::string(key.substr(0, 80)) + "' has no frames",
                  "leave it out");
    if (values == nullptr)
      htk::refuse("htk.write-no-data", path,
                  "utterance '" + std::string(key.substr(0, 80)) + "' has frames without values",
                  "give the values of every frame");
    if (count > htk::kMostFrames - (options.layout == HtkLayout::files ? 0 : frames))
      htk::refuse("htk.write-too-many", path, "more than 2147483647 frames in one parameter file",
                  "write several, or a file for each utterance");
    if (options.layout == HtkLayout::archive && !keys.insert(hash_text(key)).second)
      htk::refuse("htk.write-repeated", path, "utterance '" + std::string(key.substr(0, 80)) + "' is there already",
                  "readers leave out all of one key: give each its own");
    options.layout == HtkLayout::files ? file_of(key, count, values) : append_frames(*archive, count, values);
    const std::uint64_t first = options.layout == HtkLayout::files ? 0 : frames;
    if (list) {
      lines.append(key).append(".htk=.../").append(name);
      if (options.layout == HtkLayout::files) lines.append("/").append(key).append(".htk");
      lines += '[' + std::to_string(first) + ',' + std::to_string(first + count - 1) + "]\n";
      if (lines.size() > htk::kFlush) flush_lines();
    }
    frames += count;
    ++utterances;
  }

  void append_frames(io::AtomicFile& out, std::uint64_t count, const float* values) {
    std::uint64_t left = count * options.dim;
    while (left > 0) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left, htk::kFlush / 4));
      block.resize(4 * n);
      for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t v = std::bit_cast<std::uint32_t>(values[i]);
        if constexpr (std::endian::native == std::endian::little) v = byte_swap(v);
        std::memcpy(block.data() + 4 * i, &v, 4);
      }
      out.append(block);
      values += n;
      left -= n;
    }
    bytes += 4 * count * options.dim;
  }

  void file_of(std::string_view key, std::uint64_t count, const float* values) {
    htk::check_name(key, path);
    const htk::fs::path file = htk::fs::path(folder) / (std::string(key) + ".htk");
    std::error_code code;
    htk::fs::create_directories(file.parent_path(), code);
    if (code) io::fail("create", file.parent_path().string(), code.value());
    if (htk::fs::exists(file, code))
      htk::refuse("htk.write-name", path, "two utterances with the key '" + std::string(key.substr(0, 80)) + "'",
                  "write one archive, or number the sequences");
    io::AtomicFile out(file.string(), {.durable = false, .clear = false});  // the folder is synced as a whole
    out.append(htk::head(options, count));
    append_frames(out, count, values);
    out.commit();
    bytes += 12;
  }

  void flush_lines() {
    list->append(std::string_view(lines));
    lines.clear();
  }

  void seal() {
    if (state == State::sealed) return;
    if (state != State::open) io::refuse_written(path);
    state = State::done;  // unless it gets to the end
    if (archive) {
      archive->rewrite_head(htk::head(options, frames));
      archive->seal();
    } else {
      io::sync_file_system(folder);
    }
    if (list) {
      flush_lines();
      list->seal();
    }
    state = State::sealed;
  }

  // The list last: where it stands, what it names stands too. An older list would
  // name other frames, so it goes first. Where nothing may be replaced and the list's name
  // was taken meanwhile, the frames go again; in between they could be seen.
  void commit() {
    seal();
    state = State::done;
    std::error_code none;
    if (list && options.replace) htk::fs::remove(path, none);
    commit_features();
    if (!list) return;
    bytes += list->size();
    try {
      list->commit();
      drop_folder();  // the older one; it may take a while
    } catch (...) {
      if (!options.replace || !htk::fs::exists(path, none)) htk::fs::remove_all(target, none);
      throw;
    }
  }

  void commit_features() {
    if (archive) {
      archive->commit();
      bytes += 12;
    } else {
      std::error_code code;
      if (options.replace && htk::fs::exists(target, code)) {
        io::exchange(folder, target);  // the older one goes under the temporary name
      } else {
        io::put_in_place(folder, target, options.replace);
        folder.clear();
      }
    }
  }

  std::string path;
  HtkWriterOptions options;
  std::string target, name;  // the companion, and its last component
  std::string folder;        // of the files, until commit()
  std::optional<io::AtomicFile> archive, list;
  std::string lines;
  std::unordered_set<std::uint64_t> keys;  // hashes of those in the archive
  std::vector<std::byte> block;
  std::uint64_t utterances = 0, frames = 0, bytes = 0;
  enum class State { open, sealed, done } state = State::open;
};

HtkWriter::HtkWriter(std::string path, HtkWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(path), options)) {}
HtkWriter::HtkWriter(HtkWriter&&) noexcept = default;
HtkWriter& HtkWriter::operator=(HtkWriter&&) noexcept = default;
HtkWriter::~HtkWriter() = default;

void HtkWriter::append(std::string_view key, std::uint64_t frames, const float* values) {
  impl_->add(key, frames, values);
}
void HtkWriter::seal() { impl_->seal(); }
void HtkWriter::commit() { impl_->commit(); }
std::uint64_t HtkWriter::utterances() const noexcept { return impl_->utterances; }
std::uint64_t HtkWriter::frames() const noexcept { return impl_->frames; }
std::uint64_t HtkWriter::bytes() const noexcept { return impl_->bytes; }

std::string HtkWriter::companion(const std::string& path, HtkLayout layout) {
  if (layout == HtkLayout::single) return {};
  return std::filesystem::path(path).replace_extension(".htk").string();
}

std::uint16_t htk_kind(std::string_view text) {
  const auto bad = [&](std::string why) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "htk.kind-text",
                      .what = "'" + std::string(text) + "': " + std::move(why),
                      .hint = "write MFCC, FBANK, PLP or USER with _E _D _N _A _T _Z _0, such as MFCC_0_D_A"});
  };
  const std::size_t bar = std::min(text.find('_'), text.size());
  std::uint16_t code = 0;
  for (const std::uint16_t base : std::array<std::uint16_t, 4>{6, 7, 9, 11}) {
    if (htk::kind_text(base) == text.substr(0, bar)) code = base;
  }
  if (code == 0) bad("no kind of features that can be written");
  for (std::size_t at = bar; at < text.size(); at += 2) {
    const std::string_view qualifier = text.substr(at, 2);
    std::uint16_t bit = 0;
    for (unsigned candidate = 0100; candidate <= 0100000; candidate <<= 1) {
      if (candidate == htk::kCompressed || candidate == htk::kVq || candidate == htk::kChecksum) continue;
      if (htk::kind_text(static_cast<std::uint16_t>(9 | candidate)) == "USER" + std::string(qualifier))
        bit = static_cast<std::uint16_t>(candidate);
    }
    if (bit == 0 || (code & bit) != 0) bad("'" + std::string(qualifier) + "' is no qualifier that can be written here");
    code = static_cast<std::uint16_t>(code | bit);
  }
  return code;
}

}  // namespace batchfeed
