// SPDX-License-Identifier: MIT
#include "io/sys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

namespace batchfeed::io {

const Sys kSystem = {
    .open = [](const char* path, int flags, unsigned mode) { return ::open(path, flags, mode); },
    .fstat = [](int fd, struct ::stat* out) { return ::fstat(fd, out); },
    .pread = [](int fd, void* to, std::size_t bytes, ::off_t at) { return ::pread(fd, to, bytes, at); },
    .read = [](int fd, void* to, std::size_t bytes) { return ::read(fd, to, bytes); },
    .write = [](int fd, const void* from, std::size_t bytes) { return ::write(fd, from, bytes); },
    .fsync = [](int fd) { return ::fsync(fd); },
    .fchmod = [](int fd, ::mode_t mode) { return ::fchmod(fd, mode); },
    .rename = [](const char* from, const char* to) { return ::rename(from, to); },
    .rename_new = [](const char* from,
                     const char* to) { return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE); },
    .link = [](const char* from, const char* to) { return ::link(from, to); },
    .unlink = [](const char* path) { return ::unlink(path); },
    .close = [](int fd) { return ::close(fd); },
    .mkostemp = [](char* pattern, int flags) { return ::mkostemp(pattern, flags); },
};

namespace {
const Sys* current = &kSystem;
}

const Sys& sys() noexcept { return *current; }
void set_sys(const Sys* table) noexcept { current = table == nullptr ? &kSystem : table; }

}  // namespace batchfeed::io
