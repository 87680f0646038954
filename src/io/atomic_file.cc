// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/working_folder.h"
#include "compressed/zstd_writer.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/sys.h"

namespace batchfeed::io {
namespace {

// A signal may interrupt fsync(2) on a network file system.
int sync_again(int fd) {
  int result = 0;
  do result = sys().fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

// An interrupted close(2) closes all the same, and what had gone wrong in writing fsync(2) has told.
bool closes(int fd) { return sys().close(fd) == 0 || errno == EINTR; }

int open_again(const std::string& path, int flags) {
  return open_making_room([&] { return sys().open(path.c_str(), flags | O_CLOEXEC, 0); });
}

// Makes a rename survive a loss of power. File systems that cannot sync a
// directory say EINVAL; the rename itself is done by then.
void sync_directory(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  const int fd = open_again(directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;
  const int result = sync_again(fd);
  const int error = errno;
  sys().close(fd);
  if (result != 0 && error != EINVAL && error != EROFS) fail("sync", directory, error);
}

// A rename would put a file in the place of a device or a pipe: of /dev/null, say, where root
// writes. Or in the place of a link to one, such as /dev/stdout.
void expect_replaceable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) fail("write", path, EISDIR);
  const bool special = fs::exists(status) && !fs::is_regular_file(status);
  if (!special && !(path.starts_with("/dev/") && fs::is_symlink(fs::symlink_status(path, none)))) return;
  throw Error(Fault{.kind = FaultKind::io,
                    .id = "io.special-target",
                    .at = {.file = path},
                    .what = "is a device or a pipe, which a file would replace",
                    .hint = "name a file; commands that write text write to standard output without one"});
}

void write_all(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t n = sys().write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("write", path, n == 0 ? EIO : errno);  // 0: some FUSE file systems, again and again
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

bool exists(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(std::filesystem::symlink_status(path, none));
}

// Renames unless `to` exists: 0, or -1 and errno, as rename(2). Where the file system or the kernel
// has no such rename, a hard link does the same; where it has none, or for a folder, a file that
// comes between the look and the rename is replaced.
int rename_new(const std::string& from, const std::string& to) {
  const int result = sys().rename_new(from.c_str(), to.c_str());
  if (result == 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)) return result;
  if (sys().link(from.c_str(), to.c_str()) == 0) {
    sys().unlink(from.c_str());
    return 0;
  }
  if (errno != EEXIST && !exists(to)) return sys().rename(from.c_str(), to.c_str());
  errno = EEXIST;
  return -1;
}

// In the folder of the file, which lies at `place`.
std::string temporary_name(const std::string& path, const std::string& place) {
  const std::size_t folder = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  const std::string_view name = std::string_view(path).substr(folder);
  if (name.size() > NAME_MAX) fail("create", path, ENAMETOOLONG);
  // The system would take the part before a NUL for the whole path.
  if (path.find('\0') != path.npos) fail("create", path, EINVAL);
  const std::size_t cut = name.size() - temporary_stem(name).size();
  return place.substr(0, place.size() - cut) + ".tmp.XXXXXX";
}

}  // namespace

void refuse_existing(const std::string& path) {
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = "convert.exists",
                    .at = {.file = path},
                    .what = "exists already",
                    .hint = "choose another name, or `force`"});
}

void put_in_place(const std::string& from, const std::string& to, bool replace, const std::string& name) {
  if ((replace ? sys().rename(from.c_str(), to.c_str()) : rename_new(from, to)) == 0) return;
  if (!replace && errno == EEXIST) refuse_existing(name);
  fail("rename", name, errno);
}

void exchange(const std::string& one, const std::string& other) {
  if (sys().exchange(one.c_str(), other.c_str()) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail("rename", other, errno);
  const std::string aside = one + ".old";
  if (sys().rename(other.c_str(), aside.c_str()) != 0) fail("rename", other, errno);
  if (sys().rename(one.c_str(), other.c_str()) != 0) {
    const int error = errno;
    sys().rename(aside.c_str(), other.c_str());
    fail("rename", other, error);
  }
  if (sys().rename(aside.c_str(), one.c_str()) != 0) fail("rename", aside, errno);
}

void allow_no_more_than(const std::string& path, const std::string& other) noexcept {
  struct ::stat mine = {}, its = {};
  if (::stat(path.c_str(), &mine) == 0 && ::stat(other.c_str(), &its) == 0)
    ::chmod(path.c_str(), mine.st_mode & (its.st_mode | S_IRWXU) & 0777);
}

AtomicFile::AtomicFile(std::string path, AtomicFileOptions options)
    : path_(std::move(path)),
      place_(from_anywhere(path_)),
      temp_(temporary_name(path_, place_)),
      options_(std::move(options)) {
  expect_replaceable(path_);
  if (!options_.replace && exists(path_)) refuse_existing(path_);
  if (options_.clear) remove_leftovers(path_);
  // Made before the file, which nobody would delete if this throws.
  if (!options_.plain && path_.ends_with(".zst"))
    zstd_ = std::make_unique<compressed::ZstdWriter>([this](auto bytes) { write_all(fd_, path_, bytes); });
  unfinished_.emplace();
  fd_ = open_making_room([this] { return sys().mkostemp(temp_.data(), O_CLOEXEC); });
  if (fd_ < 0) fail("create", path_, errno);
  unfinished_->list(temp_);
  if (!options_.no_more_than.empty()) {
    allow_no_more_than(temp_, options_.no_more_than);
  } else if (options_.replace) {
    allow_no_more_than(temp_, place_);
  }
  sys().lock(fd_, true);  // where that is not supported, remove_leftovers() goes by its age
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) sys().close(fd_);
  if (!done_) sys().unlink(temp_.c_str());
}

void refuse_written(const std::string& path) {
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = "io.written",
                    .at = {.file = path},
                    .what = "was written as a whole, or could not be, and this writer is done",
                    .hint = "open another writer"});
}

void AtomicFile::expect_unwritten(bool open) const {
  if (done_ || torn_ || !open) refuse_written(path_);
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  expect_unwritten(fd_ >= 0);
  torn_ = true;  // if this throws
  zstd_ ? zstd_->append(bytes) : write_all(fd_, path_, bytes);
  torn_ = false;
  size_ += bytes.size();
}

void AtomicFile::rewrite_head(std::span<const std::byte> bytes) {
  expect_unwritten(true);
  torn_ = true;
  const int fd = open_again(temp_, O_WRONLY);
  if (fd < 0) fail("open", temp_, errno);
  try {
    write_all(fd, path_, bytes);
  } catch (...) {
    sys().close(fd);
    throw;
  }
  if (!closes(fd)) fail("close", temp_, errno);
  torn_ = false;
}

void AtomicFile::seal() {
  if (fd_ < 0 && !torn_) return;
  expect_unwritten(true);
  torn_ = true;
  if (zstd_) zstd_->finish();
  if (options_.durable && sync_again(fd_) != 0) fail("sync", path_, errno);
  if (!closes(std::exchange(fd_, -1))) fail("close", path_, errno);
  torn_ = false;
}

void AtomicFile::discard() {
  if (fd_ >= 0) sys().close(std::exchange(fd_, -1));
  if (sys().unlink(temp_.c_str()) != 0) fail("remove", temp_, errno);
  forget();
}

void AtomicFile::forget() {
  done_ = true;
  unfinished_.reset();
}

void AtomicFile::commit() {
  expect_unwritten(true);
  seal();
  put_in_place(temp_, place_, options_.replace, path_);
  forget();
  if (options_.durable) sync_directory(place_);
}

void sync_file_system(const std::string& path) {
  const int fd = open_again(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) fail("open", path, errno);
  const int result = ::syncfs(fd);
  const int error = errno;
  sys().close(fd);
  if (result != 0) fail("sync", path, error);
}

}  // namespace batchfeed::io
