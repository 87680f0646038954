// SPDX-License-Identifier: MIT
//
// Writes frames as an archive and its list, or as a file for each utterance. The header has the
// number of frames, so an archive's header is written again at the end.
#include <batchfeed/speech_writer.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/cursor.h"
#include "base/seen.h"
#include "base/working_folder.h"
#include "formats/htk/writable.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/sys.h"

namespace batchfeed {
namespace htk {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFlush = std::size_t{1} << 20;

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

// A file or folder, to be known again under its final name.
class Mark {
 public:
  explicit Mark(const std::string& temporary) {
    struct ::stat found {};
    if (io::sys().stat(temporary.c_str(), &found) != 0) io::fail("examine", temporary, errno);
    device_ = found.st_dev;
    inode_ = found.st_ino;
  }
  // False if there surely is another, or none.
  bool may_be(const std::string& path) const noexcept {
    struct ::stat found {};
    if (io::sys().stat(path.c_str(), &found) != 0) return errno != ENOENT;
    return found.st_dev == device_ && found.st_ino == inode_;
  }

 private:
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
};

}  // namespace
}  // namespace htk

struct HtkWriter::Impl {
  Impl(std::string file, HtkWriterOptions wanted)
      : path(std::move(file)),
        place(from_anywhere(path)),
        options(wanted),
        target(companion(path, options.layout)),
        target_place(from_anywhere(target)) {
    htk::check_head(options, path);
    name = htk::fs::path(target).filename().string();
    htk::check_companion(name, path);
    if (has_files()) {
      std::error_code none;
      if (target.find('\0') != std::string::npos) io::fail("create", target, EINVAL);
      if (!options.replace && htk::fs::exists(htk::fs::symlink_status(target, none))) io::refuse_existing(target);
      io::remove_leftovers(target);
      folder = target_place + ".tmp.XXXXXX";
      if (io::make_folder(folder.data()) != 0) io::fail("create", target, errno);
      if (options.replace) io::allow_no_more_than(folder, target_place);
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

  bool has_files() const noexcept { return options.layout == HtkLayout::files; }

  void add(std::string_view key, std::uint64_t count, const float* values) {
    if (state != State::open) io::refuse_written(path);
    check(key, count, values);
    has_files() ? file_of(key, count, values) : append_frames(*archive, count, values);
    if (list) enlist(key, count);
    frames += count;
    ++utterances;
  }

  void check(std::string_view key, std::uint64_t count, const float* values) {
    if (options.layout == HtkLayout::single) {
      if (utterances > 0) htk::refuse_second(path);
    } else {
      htk::check_key(key, path);
    }
    htk::check_frames(key, count, values, has_files() ? 0 : frames, path);
    if (options.layout == HtkLayout::archive && !keys.add(key)) htk::refuse_repeated(key, path);
  }

  // Adds a line to the list, for the `count` frames that are appended next.
  void enlist(std::string_view key, std::uint64_t count) {
    const std::uint64_t first = has_files() ? 0 : frames;
    lines.append(key).append(".htk=.../").append(name);
    if (has_files()) lines.append("/").append(key).append(".htk");
    lines += '[' + std::to_string(first) + ',' + std::to_string(first + count - 1) + "]\n";
    if (lines.size() > htk::kFlush) flush_lines();
  }

  void append_frames(io::AtomicFile& out, std::uint64_t count, const float* values) {
    std::uint64_t left = count * options.dim;
    while (left > 0) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left, htk::kFlush / 4));
      block.resize(4 * n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto v = as_stored<std::endian::big>(std::bit_cast<std::uint32_t>(values[i]));
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
    if (htk::fs::exists(file, code)) htk::refuse_same_name(key, path);
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
    state = State::done;  // should anything below throw
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

  // The list is committed last, so that all it names exists. An older list is removed first, as
  // it would name frames of the new archive; where it cannot be removed, all stays as it is. If the list
  // cannot be committed, for instance because its name was taken meanwhile, the frames are removed again; for a moment
  // they could be seen.
  void commit() {
    seal();
    state = State::done;
    if (!list) return commit_features();
    const htk::Mark features(archive ? archive->temporary() : folder), names(list->temporary());
    if (options.replace && io::sys().unlink(place.c_str()) != 0 && errno != ENOENT) io::fail("remove", path, errno);
    commit_features();
    bytes += list->size();
    // Another writer of the same name may come between. It too has removed the list before, and puts its own in place
    // later: of two, at most the one whose frames are in place leaves a list.
    if (!features.may_be(target_place)) htk::refuse_raced(target);
    try {
      list->commit();
    } catch (...) {
      std::error_code none;
      if (!names.may_be(place) && features.may_be(target_place)) htk::fs::remove_all(target_place, none);
      throw;
    }
    if (!features.may_be(target_place)) {
      if (names.may_be(place)) io::sys().unlink(place.c_str());
      htk::refuse_raced(target);
    }
    drop_folder();  // the older folder; removing it may take a while
  }

  void commit_features() {
    if (archive) {
      archive->commit();
      bytes += 12;
    } else {
      std::error_code code;
      if (options.replace && htk::fs::exists(target_place, code)) {
        io::exchange(folder, target_place);  // the older folder gets the temporary name
      } else {
        io::put_in_place(folder, target_place, options.replace, target);
        folder.clear();
      }
    }
  }

  std::string path, place;  // as it was given, and from wherever the process may be
  HtkWriterOptions options;
  std::string target, target_place, name;  // the companion, likewise, and its last component
  std::string folder;  // the temporary folder of the files; after commit(), the older folder or empty
  std::optional<io::AtomicFile> archive, list;
  std::string lines;
  Seen keys;  // used for an archive only: names of files show repeated keys
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

}  // namespace batchfeed
