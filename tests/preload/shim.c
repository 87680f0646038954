/* SPDX-License-Identifier: MIT
 *
 * To be preloaded: the Nth system call of a kind on files of a folder fails, for
 * programs that cannot be given another table of calls (the command, Python).
 *
 *   FAIL_UNDER=FOLDER   files whose paths begin so, and all relative ones
 *   SLOW_PREAD_MS=MS    each pread of them sleeps first
 *   FAIL="CALL N HOW"   CALL: open fstat pread write fsync close rename unlink ftruncate opendir
 *                       readdir allocation, or thread, allocations, of which the Nth and all behind it fail
 *                       HOW: an errno, or "short": one byte is read or written
 *
 * A process can set the same with fail_call(); fail_count() tells how many calls of
 * that kind there were. When the call fails, the file FAIL_MARK is made.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kShort = -1, kMost = 4096 };
static char kind[16];
static long nth;
static int how;
static long slow_ms;
static atomic_long calls;
static atomic_char ours[kMost];

void fail_call(const char* call, long n, int error) {
  snprintf(kind, sizeof kind, "%s", call);
  nth = n;
  how = error;
  calls = 0;
}
long fail_count(void) { return calls; }

__attribute__((constructor)) static void begin(void) {
  char call[16], word[16];
  long n;
  const char* fail = getenv("FAIL");
  const char* slow = getenv("SLOW_PREAD_MS");
  if (slow) slow_ms = atol(slow);
  if (fail && sscanf(fail, "%15s %ld %15s", call, &n, word) == 3) fail_call(call, n, strcmp(word, "short") == 0 ? kShort : atoi(word));
}

static int below(const char* path) {
  const char* folder = getenv("FAIL_UNDER");
  return folder && (path[0] != '/' || strncmp(path, folder, strlen(folder)) == 0);
}

/* 0: go on; an errno: fail with it; kShort: do less. */
static int verdict(const char* call) {
  if (strcmp(call, kind) != 0 || atomic_fetch_add(&calls, 1) + 1 != nth) return 0;
  const char* mark = getenv("FAIL_MARK");
  if (mark) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
  return how;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* of) {
  if (strcmp(kind, "thread") == 0 && atomic_fetch_add(&calls, 1) + 1 >= nth) return how;
  return REAL(pthread_create)(thread, attributes, work, of);
}

static int on(const char* call, int fd) { return fd >= 0 && fd < kMost && ours[fd] ? verdict(call) : 0; }

static int opened(int fd) {
  if (fd >= 0 && fd < kMost) ours[fd] = 1;
  return fd;
}

#define REFUSE(error)                \
  do {                               \
    const int refusal = (error);     \
    if (refusal != 0) {              \
      errno = refusal;               \
      return -1;                     \
    }                                \
  } while (0)

#define OPEN(name)                                    \
  int name(const char* path, int flags, ...) {        \
    va_list more;                                     \
    va_start(more, flags);                            \
    const mode_t mode = va_arg(more, mode_t);         \
    va_end(more);                                     \
    if (!below(path)) return REAL(name)(path, flags, mode); \
    REFUSE(verdict("open"));                          \
    return opened(REAL(name)(path, flags, mode));     \
  }
OPEN(open)
OPEN(open64)

static void be_slow(int fd) {
  if (slow_ms == 0 || fd < 0 || fd >= kMost || !ours[fd]) return;
  const struct timespec time = {slow_ms / 1000, slow_ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

#define PREAD(name, offset)                                     \
  ssize_t name(int fd, void* to, size_t n, offset at) {         \
    be_slow(fd);                                                \
    const int error = on("pread", fd);                          \
    if (error == kShort) return REAL(name)(fd, to, n < 1 ? n : 1, at); \
    REFUSE(error);                                              \
    return REAL(name)(fd, to, n, at);                           \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t write(int fd, const void* from, size_t n) {
  const int error = on("write", fd);
  if (error == kShort) return REAL(write)(fd, from, n < 1 ? n : 1);
  REFUSE(error);
  return REAL(write)(fd, from, n);
}
int fstat(int fd, struct stat* s) {
  REFUSE(on("fstat", fd));
  return REAL(fstat)(fd, s);
}
int fsync(int fd) {
  REFUSE(on("fsync", fd));
  return REAL(fsync)(fd);
}
int ftruncate(int fd, off_t size) {
  REFUSE(on("ftruncate", fd));
  return REAL(ftruncate)(fd, size);
}
int close(int fd) {
  const int error = on("close", fd);
  if (fd >= 0 && fd < kMost) ours[fd] = 0;
  const int result = REAL(close)(fd); /* as in the kernel, it is closed all the same */
  REFUSE(error);
  return result;
}
int rename(const char* from, const char* to) {
  if (below(from)) REFUSE(verdict("rename"));
  return REAL(rename)(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (below(from)) REFUSE(verdict("rename"));
  return REAL(renameat2)(from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) {
  if (below(path)) REFUSE(verdict("unlink"));
  return REAL(unlink)(path);
}
/* Of a folder, of which there is one at a time. */
static DIR* folder;
DIR* opendir(const char* path) {
  const int error = below(path) ? verdict("opendir") : 0;
  errno = error;
  DIR* const result = error != 0 ? NULL : REAL(opendir)(path);
  if (below(path)) folder = result;
  return result;
}
struct dirent* readdir(DIR* of) {
  const int error = of == folder ? verdict("readdir") : 0;
  if (error != 0) errno = error;
  return error != 0 ? NULL : REAL(readdir)(of);
}

extern void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes) {
  if (kind[0] == 'a' && ((strcmp(kind, "allocation") == 0 && verdict(kind) != 0) || (strcmp(kind, "allocations") == 0 && atomic_fetch_add(&calls, 1) + 1 >= nth))) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_malloc(bytes);
}
