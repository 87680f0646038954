// SPDX-License-Identifier: MIT
#include "io/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/sys.h"

namespace batchfeed::io {

namespace {

// Deeper folders are not ours.
constexpr int kDepth = 32;

// An open folder: what stands in it is reached through its descriptor alone, and no link is followed, as a stranger may
// have made the folder and the link.
class Folder {
 public:
  Folder(int above, const char* name) {
    const int fd = ::openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    dir_.reset(::fdopendir(fd));
    if (!dir_) ::close(fd);
  }
  explicit operator bool() const { return dir_ != nullptr; }
  int fd() const { return ::dirfd(dir_.get()); }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    while (const dirent* entry = ::readdir(dir_.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is our own
      std::string name = entry->d_name;
      if (name != "." && name != "..") out.push_back(std::move(name));
    }
    return out;
  }

 private:
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  std::unique_ptr<DIR, Close> dir_;
};

void remove(int above, const char* name, int depth) {
  if (::unlinkat(above, name, 0) == 0 || depth > kDepth) return;
  if (const Folder folder(above, name); folder) {
    for (const std::string& one : folder.names()) remove(folder.fd(), one.c_str(), depth + 1);
  }
  ::unlinkat(above, name, AT_REMOVEDIR);
}

// A writer holds a lock on its file, which is gone if it was killed. The shared lock tried here needs no right to
// write, and is not in the way of others who look.
bool is_locked(int above, const char* name) {
  const int fd = ::openat(above, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = sys().lock(fd, false) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

constexpr std::time_t kHour = 3600;

// When a file of this user, or the youngest beneath a folder of this user, was last written. Now, if it is locked: its
// writer may have had nothing to write for hours.
std::optional<std::time_t> last_written(int above, const char* name, int depth) {
  struct stat found {};
  if (::fstatat(above, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || found.st_uid != ::geteuid()) return {};
  const std::time_t now = std::time(nullptr);
  std::time_t out = found.st_mtime;
  if (S_ISREG(found.st_mode) && now - out > kHour && is_locked(above, name)) return now;
  if (!S_ISDIR(found.st_mode) || depth > kDepth) return out;
  if (const Folder folder(above, name); folder) {
    for (const std::string& one : folder.names()) {
      if (const auto written = last_written(folder.fd(), one.c_str(), depth + 1)) out = std::max(out, *written);
    }
  }
  return out;
}

constexpr std::string_view kMark = ".tmp.";
constexpr std::size_t kTemporary = kMark.size() + 6;  // bytes that end the name of a temporary file

std::vector<std::string> list_temporary_names(const Folder& folder) {
  std::vector<std::string> out = folder.names();
  std::erase_if(out, [](const std::string& name) {
    return name.size() <= kTemporary || name.compare(name.size() - kTemporary, kMark.size(), kMark) != 0;
  });
  return out;
}

// All temporary names that are an hour old, and perhaps others. Writing many files into a folder does not read it for
// each: a list of the last half hour will do, as files that are not in it are not an hour old. Thread-safe.
std::vector<std::string> temporary_names(const Folder& folder, const std::string& where) {
  static std::mutex mutex;
  static struct {
    std::string where;
    struct stat folder {};
    std::time_t made = 0;
    std::vector<std::string> names;
  } last;
  struct stat found {};
  const std::unique_lock lock(mutex, std::try_to_lock);  // in a forked process it may never become free
  if (!lock || ::fstat(folder.fd(), &found) != 0) return list_temporary_names(folder);
  const std::time_t age = std::time(nullptr) - last.made;
  const bool same = where == last.where && found.st_dev == last.folder.st_dev && found.st_ino == last.folder.st_ino;
  if (!same || age < 0 || age > kHour / 2) {
    last.where.clear();  // if this throws
    last.names = list_temporary_names(folder);
    last.folder = found;
    last.made = std::time(nullptr);
    last.where = where;
  }
  return last.names;
}

}  // namespace

std::string_view temporary_stem(std::string_view name) noexcept { return name.substr(0, NAME_MAX - kTemporary); }

std::uint64_t size_or_none(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::uint64_t>(size);
}

void remove_leftovers(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  // The folder that the user names may well be a link.
  const std::string where = slash == std::string::npos ? "." : target.substr(0, slash + 1) + '.';
  const Folder folder(AT_FDCWD, where.c_str());
  if (!folder) return;
  for (const std::string& other : temporary_names(folder, where)) {
    const std::string_view whose(other.data(), other.size() - kTemporary);
    if (whose != temporary_stem(name) && whose != temporary_stem(name + ".keys")) continue;
    const auto written = last_written(folder.fd(), other.c_str(), 0);
    if (written && std::time(nullptr) - *written > kHour) remove(folder.fd(), other.c_str(), 0);
  }
}

void remove_tree(const std::string& path) { remove(AT_FDCWD, path.c_str(), 0); }

}  // namespace batchfeed::io
