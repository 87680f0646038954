/* SPDX-License-Identifier: MIT
 *
 * To be preloaded: a program that is started once, and copied for every run. Starting a
 * small run takes ten times as long as the run, nearly all of it for loading libraries.
 *
 * When main is due, names of folders are read from standard input, a line each. For each
 * a child goes there and is main, with the arguments the program was started with and those
 * that stand behind the name, each behind a tab; what it prints goes to .out and .err in that
 * folder. How it ended is answered, as waitpid tells it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// A run that is stopped for a while, as all else may be that can wait, is no run that hangs.
enum { kSecondsOfProcessor = 60, kSeconds = 1800, kMostArguments = 64 };
typedef int Main(int, char**, char**);
static Main* program;

static void become(const char* path, int descriptor, int flags) {
  const int fd = open(path, flags, 0600);
  if (fd < 0 || dup2(fd, descriptor) < 0) _exit(126);
  close(fd);
}

// Those of the program and, cut out of `line`, those behind the first tab; how many there are.
static int arguments(int argc, char** argv, char* line, char** out) {
  for (int i = 0; i < argc && i < kMostArguments; ++i) out[i] = argv[i];
  strtok(line, "\t");
  for (char* next; (next = strtok(NULL, "\t")) != NULL; out[argc++] = next)
    if (argc >= kMostArguments) _exit(126);
  out[argc] = NULL;
  return argc;
}

static int serve(int argc, char** argv, char** environment) {
  char* all[kMostArguments + 1];
  char* folder = NULL;
  size_t room = 0;
  ssize_t n;
  unsetenv("LD_PRELOAD");
  while ((n = getline(&folder, &room, stdin)) > 0) {
    int status = 0;
    folder[strcspn(folder, "\n")] = '\0';
    const pid_t child = fork();
    if (child == 0) {
      const int count = arguments(argc, argv, folder, all);
      if (chdir(folder) != 0) _exit(126);
      become("/dev/null", 0, O_RDONLY);
      become(".out", 1, O_WRONLY | O_CREAT | O_TRUNC);
      become(".err", 2, O_WRONLY | O_CREAT | O_TRUNC);
      const struct rlimit limit = {kSecondsOfProcessor, kSecondsOfProcessor};
      setrlimit(RLIMIT_CPU, &limit);
      alarm(kSeconds);
      exit(program(count, all, environment));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    printf("%d\n", status);
    fflush(stdout);
  }
  free(folder);
  return 0;
}

typedef int Start(Main*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  Start* const start = (Start*)dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return start(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
