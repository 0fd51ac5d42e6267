/*
 * Loaded into a server with LD_PRELOAD: every fsync and fdatasync takes SLOW_FSYNC_US microseconds longer, as on a
 * slower disk. Built at run time with: cc -shared -fPIC -o slow-fsync.so slow-fsync.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_first(void) {
  const char *us = getenv("SLOW_FSYNC_US");
  if (us) usleep((useconds_t)atoi(us));
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_first();
  return real(fd);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_first();
  return real(fd);
}
