// SPDX-License-Identifier: MIT
//
// The system calls batchfeed makes on files, as a table, so that tests can make
// any of them fail.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace batchfeed::io {

struct Sys {
  int (*open)(const char* path, int flags, unsigned mode);
  int (*fstat)(int fd, struct ::stat* out);
  int (*stat)(const char* path, struct ::stat* out);
  ::ssize_t (*pread)(int fd, void* to, std::size_t bytes, ::off_t at);
  ::ssize_t (*read)(int fd, void* to, std::size_t bytes);
  ::ssize_t (*write)(int fd, const void* from, std::size_t bytes);
  int (*fsync)(int fd);
  int (*lock)(int fd, bool alone);  // flock(2), exclusive if `alone`, without waiting
  int (*rename)(const char* from, const char* to);
  int (*rename_new)(const char* from, const char* to);  // EEXIST where `to` exists
  int (*exchange)(const char* one, const char* other);  // of two that exist
  int (*link)(const char* from, const char* to);
  int (*unlink)(const char* path);
  int (*close)(int fd);
  int (*mkostemp)(char* pattern, int flags);  // with the permissions that the umask leaves
};

// Makes a folder as mkdtemp(3) does, but with the permissions that the umask leaves; 0, or -1 and errno.
int make_folder(char* pattern) noexcept;

// The real calls.
extern const Sys kSystem;

// The table in use; tests exchange it. Not to be changed while files are open.
const Sys& sys() noexcept;
void set_sys(const Sys* table) noexcept;  // nullptr: the real one

}  // namespace batchfeed::io
