// SPDX-License-Identifier: MIT
#include "formats/cbf/keys.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "io/file.h"
#include "io/path_policy.h"
#include "io/sys.h"

namespace batchfeed::cbf {

std::string keys_path(const std::string& path) { return path + ".keys"; }

std::string keys_trailer(std::uint64_t sequences, std::uint64_t bytes) {
  return "#end " + std::to_string(sequences) + ' ' + std::to_string(bytes) + '\n';
}

namespace {

// Throws Error (io) if the system cannot tell: taken for "no", it would leave stale keys in place, or ignore good ones.
bool is_file(const std::string& name, const std::string& place) {
  struct ::stat found {};
  int result = 0;
  do result = io::sys().stat(place.c_str(), &found);
  while (result != 0 && errno == EINTR);
  if (result == 0) return S_ISREG(found.st_mode);
  // No file can have a name that is too long.
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return false;
  io::fail("examine", name, errno);
}

bool wrote(const std::string& name, const FileSystem& file_system = {}) {
  if (!is_file(name, io::located(name, file_system))) return false;
  const io::File file(name, file_system);
  std::string head(kKeysHead.size(), '\0');
  if (file.size() < head.size()) return false;
  file.read(0, std::as_writable_bytes(std::span(head)));
  return head == kKeysHead;
}

// Deletes PATH.keys if batchfeed wrote it.
void remove_keys(const std::string& path) {
  const std::string name = keys_path(path);
  // Another writer of the same file may have been first.
  if (wrote(name) && io::sys().unlink(name.c_str()) != 0 && errno != ENOENT) io::fail("remove", name, errno);
}

}  // namespace

void refuse_foreign_keys(const std::string& path) {
  const std::string name = keys_path(path);
  std::error_code none;
  if (!std::filesystem::exists(std::filesystem::symlink_status(name, none)) || wrote(name)) return;
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = "cbf.foreign-keys",
                    .at = {.file = name},
                    .what = "exists already, and is not what batchfeed writes",
                    .hint = "choose another name for the corpus, whose keys belong there, or move this file away"});
}

bool has_other_keys(const std::string& path, std::uint64_t sequences, std::uint64_t bytes,
                    const FileSystem& file_system) {
  const std::string name = keys_path(path);
  if (is_url(path)) return false;
  try {
    if (!wrote(name, file_system)) return false;
    const io::File file(name, file_system);
    const std::string trailer = keys_trailer(sequences, bytes);
    if (file.size() < kKeysHead.size() + trailer.size()) return true;
    std::string end(trailer.size(), '\0');
    file.read(file.size() - end.size(), std::as_writable_bytes(std::span(end)));
    return end != trailer;
  } catch (const Error&) {
    return false;  // reading the keys will report it
  }
}

void commit_without_keys(io::AtomicFile& file, bool replace) {
  if (replace) remove_keys(file.place());
  file.commit();
  if (!replace) remove_keys(file.place());
}

namespace {

// None if there is no such file, or a remote one cannot be opened: no fault, as sequences then have numbers for keys.
std::optional<io::File> open_keys(const std::string& name, const FileSystem& file_system) {
  if (is_file(name, io::located(name, file_system))) return io::File(name, file_system);
  if (!file_system.open || !is_url(name)) return std::nullopt;
  try {
    return io::File(name, file_system);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Keys::Keys(const std::string& path, std::uint64_t sequences, std::uint64_t bytes, const FileSystem& file_system) {
  const std::optional<io::File> opened = open_keys(keys_path(path), file_system);
  if (!opened) return;
  const io::File& file = *opened;
  const std::string trailer = keys_trailer(sequences, bytes);
  const std::uint64_t around = kKeysHead.size() + trailer.size();
  if (file.size() < around + sequences) return;
  // The ends are compared before the whole is read: a file of other data is left alone.
  std::string end(trailer.size(), '\0');
  file.read(file.size() - end.size(), std::as_writable_bytes(std::span(end)));
  if (end != trailer) return;
  text_.resize(static_cast<std::size_t>(file.size()));
  file.read(0, std::as_writable_bytes(std::span(text_)));
  const std::size_t last = text_.size() - trailer.size();
  std::size_t at = kKeysHead.size();
  if (text_.compare(0, at, kKeysHead) == 0 &&
      static_cast<std::uint64_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at),
                                            text_.begin() + static_cast<std::ptrdiff_t>(last), '\n')) == sequences &&
      (last == at || text_[last - 1] == '\n')) {
    begin_.reserve(static_cast<std::size_t>(sequences) + 1);
    for (; at < last; at = text_.find('\n', at) + 1) begin_.push_back(at);
    begin_.push_back(last);
  } else {
    text_ = {};
  }
}

std::string_view Keys::operator[](std::uint64_t i) const noexcept {
  const auto k = static_cast<std::size_t>(i);
  return std::string_view(text_).substr(begin_[k], begin_[k + 1] - begin_[k] - 1);
}

}  // namespace batchfeed::cbf
