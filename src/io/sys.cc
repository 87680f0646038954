// SPDX-License-Identifier: MIT
#include "io/sys.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "base/seeded_hash.h"

namespace batchfeed::io {

namespace {

// In place of mkostemp(3) and mkdtemp(3), which keep others from reading whatever the umask says; and the
// umask cannot be asked for without changing it. `pattern` ends with six places for a name.
template <class Make>
int with_own_name(char* pattern, const Make& make) {
  constexpr std::size_t kPlaces = 6;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  static std::atomic<std::uint64_t> calls = 0;
  char* const name = pattern + std::strlen(pattern) - kPlaces;
  for (int tries = 0; tries < 1000;) {
    // Forked processes have the same seed, threads the same number of the process.
    std::uint64_t draw = Fingerprint().add(table_seed()).add(std::uint64_t(::getpid())).add(++calls).value();
    for (std::size_t i = 0; i < kPlaces; ++i, draw /= kLetters.size()) name[i] = kLetters[draw % kLetters.size()];
    const int result = make();
    if (result >= 0 || (errno != EEXIST && errno != EINTR)) return result;
    tries += errno == EEXIST ? 1 : 0;
  }
  return -1;
}

}  // namespace

int make_folder(char* pattern) noexcept {
  return with_own_name(pattern, [&] { return ::mkdir(pattern, 0777); });
}

const Sys kSystem = {
    .open = [](const char* path, int flags, unsigned mode) { return ::open(path, flags, mode); },
    .fstat = [](int fd, struct ::stat* out) { return ::fstat(fd, out); },
    .stat = [](const char* path, struct ::stat* out) { return ::stat(path, out); },
    .pread = [](int fd, void* to, std::size_t bytes, ::off_t at) { return ::pread(fd, to, bytes, at); },
    .read = [](int fd, void* to, std::size_t bytes) { return ::read(fd, to, bytes); },
    .write = [](int fd, const void* from, std::size_t bytes) { return ::write(fd, from, bytes); },
    .fsync = [](int fd) { return ::fsync(fd); },
    .lock = [](int fd, bool alone) { return ::flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB); },
    .rename = [](const char* from, const char* to) { return ::rename(from, to); },
    .rename_new = [](const char* from,
                     const char* to) { return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE); },
    .exchange = [](const char* one,
                   const char* other) { return ::renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE); },
    .link = [](const char* from, const char* to) { return ::link(from, to); },
    .unlink = [](const char* path) { return ::unlink(path); },
    .close = [](int fd) { return ::close(fd); },
    .mkostemp =
        [](char* pattern, int flags) {
          return with_own_name(pattern, [&] { return ::open(pattern, O_RDWR | O_CREAT | O_EXCL | flags, 0666); });
        },
};

namespace {
const Sys* current = &kSystem;
}

const Sys& sys() noexcept { return *current; }
void set_sys(const Sys* table) noexcept { current = table == nullptr ? &kSystem : table; }

}  // namespace batchfeed::io
