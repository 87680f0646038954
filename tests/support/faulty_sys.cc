// SPDX-License-Identifier: MIT
#include "support/faulty_sys.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace batchfeed::testing {
namespace {

FaultySys* current = nullptr;

}  // namespace

struct Hooks {
  static int refuse(const char* name, const std::string& path) {
    const int error = current->decide(name, path);
    if (error != 0) errno = error;
    return error;
  }
  static int refuse(const char* name, int fd) { return refuse(name, current->path_of(fd)); }
  static ::ssize_t count(::ssize_t moved) {
    if (moved > 0) current->bytes_read_ += static_cast<std::uint64_t>(moved);
    return moved;
  }

  static int open(const char* path, int flags, unsigned mode) {
    return refuse("open", path) != 0 ? -1 : io::kSystem.open(path, flags, mode);
  }
  static int fstat(int fd, struct ::stat* out) { return refuse("fstat", fd) != 0 ? -1 : io::kSystem.fstat(fd, out); }
  static int stat(const char* path, struct ::stat* out) {
    return refuse("stat", path) != 0 ? -1 : io::kSystem.stat(path, out);
  }
  static ::ssize_t pread(int fd, void* to, std::size_t bytes, ::off_t at) {
    return refuse("pread", fd) != 0 ? -1 : count(io::kSystem.pread(fd, to, std::min(bytes, current->at_most_), at));
  }
  static ::ssize_t read(int fd, void* to, std::size_t bytes) {
    return refuse("read", fd) != 0 ? -1 : count(io::kSystem.read(fd, to, std::min(bytes, current->at_most_)));
  }
  static ::ssize_t write(int fd, const void* from, std::size_t bytes) {
    return refuse("write", fd) != 0 ? -1 : io::kSystem.write(fd, from, std::min(bytes, current->at_most_));
  }
  static int lock(int fd, bool alone) { return refuse("lock", fd) != 0 ? -1 : io::kSystem.lock(fd, alone); }
  static int fsync(int fd) { return refuse("fsync", fd) != 0 ? -1 : io::kSystem.fsync(fd); }
  static int rename(const char* from, const char* to) {
    return refuse("rename", to) != 0 ? -1 : io::kSystem.rename(from, to);
  }
  static int rename_new(const char* from, const char* to) {
    return refuse("rename_new", to) != 0 ? -1 : io::kSystem.rename_new(from, to);
  }
  static int exchange(const char* one, const char* other) {
    return refuse("exchange", other) != 0 ? -1 : io::kSystem.exchange(one, other);
  }
  static int link(const char* from, const char* to) {
    return refuse("link", to) != 0 ? -1 : io::kSystem.link(from, to);
  }
  static int unlink(const char* path) { return refuse("unlink", path) != 0 ? -1 : io::kSystem.unlink(path); }
  static int close(int fd) {
    // As on Linux, close() closes the descriptor even when it fails.
    const int error = current->decide("close", current->path_of(fd));
    const int result = io::kSystem.close(fd);
    if (error == 0) return result;
    errno = error;
    return -1;
  }
  static int mkostemp(char* pattern, int flags) {
    return refuse("mkostemp", pattern) != 0 ? -1 : io::kSystem.mkostemp(pattern, flags);
  }
};

namespace {

const io::Sys kHooks = {
    .open = Hooks::open,
    .fstat = Hooks::fstat,
    .stat = Hooks::stat,
    .pread = Hooks::pread,
    .read = Hooks::read,
    .write = Hooks::write,
    .fsync = Hooks::fsync,
    .lock = Hooks::lock,
    .rename = Hooks::rename,
    .rename_new = Hooks::rename_new,
    .exchange = Hooks::exchange,
    .link = Hooks::link,
    .unlink = Hooks::unlink,
    .close = Hooks::close,
    .mkostemp = Hooks::mkostemp,
};

}  // namespace

FaultySys::FaultySys(Rule rule) : rule_(std::move(rule)) {
  if (current != nullptr) throw std::logic_error("one FaultySys at a time");
  current = this;
  io::set_sys(&kHooks);
}

FaultySys::~FaultySys() {
  io::set_sys(nullptr);
  current = nullptr;
}

int FaultySys::decide(const char* name, const std::string& path) {
  const Call call{.name = name, .path = path, .number = ++calls_};
  const std::lock_guard lock(mutex_);
  log_.push_back(call);
  return rule_ ? rule_(call) : 0;
}

std::string FaultySys::path_of(int fd) const {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
}

std::vector<Call> FaultySys::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

std::vector<std::string> FaultySys::names() const {
  std::vector<std::string> out;
  for (const Call& call : log()) out.push_back(call.name);
  return out;
}

FaultySys::Rule nth_call(std::uint64_t n, int error) {
  return [=](const Call& call) { return call.number == n ? error : 0; };
}

FaultySys::Rule every(std::string name, int error) {
  return [=](const Call& call) { return call.name == name ? error : 0; };
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator fds("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(fds), end(fds))) - 1;  // without the iterator's own
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "batchfeed-test.XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder: " + pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string ScratchFolder::write(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  std::ofstream file(path_ / name, std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + name);
  return *this / name;
}

std::string ScratchFolder::write_unseen(const std::string& name, const std::string& content) const {
  const auto time = std::filesystem::last_write_time(path_ / name);
  const std::string path = write(name, content);
  std::filesystem::last_write_time(path_ / name, time);
  return path;
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    if (entry.is_regular_file()) out.push_back(std::filesystem::relative(entry.path(), path_).string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace batchfeed::testing
