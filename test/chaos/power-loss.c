/*
 * Loaded into a service with LD_PRELOAD. Keeps, beside an SQLite file and its WAL, what must be put back to see them as
 * they were when they were last synced: before every write the bytes it replaces go into `<db>.undo-db` or
 * `<db>.undo-wal`, and a sync that has succeeded empties that file. So after a kill the power can be taken away from
 * what was never synced. `<db>.syncs` has a line per sync, and one for a WAL that was begun anew while pages that
 * had been copied from it into the database were not synced yet.
 *
 * Built by power-loss.ts. An undo record is four 64-bit numbers (where, how many bytes were there, the size of the
 * file, how many bytes come) and the bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct watched {
  const char *name, *suffix;
  int undo;
};
static struct watched files[] = {{"db", "", -1}, {"wal", "-wal", -1}};
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void note(const char *name, long long size) {
  char line[80];
  int length = snprintf(line, sizeof line, "%s %lld\n", name, size);
  if (write(log_fd, line, length) != length) abort();
}

static int open_beside(const char *db, const char *suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", db, suffix);
  return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The watched file behind a descriptor, or nothing. */
static struct watched *find(int fd, struct stat *is) {
  const char *db = getenv("POWER_LOSS_DB");
  if (!db || fstat(fd, is) != 0 || !S_ISREG(is->st_mode)) return NULL;
  for (int i = 0; i < 2; i++) {
    char path[4096];
    struct stat at;
    snprintf(path, sizeof path, "%s%s", db, files[i].suffix);
    if (stat(path, &at) != 0 || at.st_ino != is->st_ino || at.st_dev != is->st_dev) continue;
    if (files[i].undo < 0) {
      snprintf(path, sizeof path, ".undo-%s", files[i].name);
      files[i].undo = open_beside(db, path);
      if (log_fd < 0) log_fd = open_beside(db, ".syncs");
      if (files[i].undo < 0 || log_fd < 0) abort();
    }
    return &files[i];
  }
  return NULL;
}

static int is_dirty(struct watched *file) {
  struct stat undo;
  return file->undo >= 0 && fstat(file->undo, &undo) == 0 && undo.st_size > 0;
}

/* Before `count` bytes at `offset` are replaced; for a truncation, before everything behind `offset` is dropped. */
static void remember(int fd, uint64_t count, uint64_t offset) {
  struct stat is;
  struct watched *file = find(fd, &is);
  if (!file) return;
  pthread_mutex_lock(&lock);
  if (file == &files[1] && offset == 0 && is_dirty(&files[0])) note("wal-begun-before-db-was-synced", is.st_size);
  uint64_t size = is.st_size, there = offset >= size ? 0 : size - offset < count ? size - offset : count;
  uint64_t head[4] = {offset, there, size, count};
  char *old = malloc(there ? there : 1);
  if (!old || (there && pread(fd, old, there, offset) != (ssize_t)there)) abort();
  struct iovec record[2] = {{head, sizeof head}, {old, there}};
  if (writev(file->undo, record, 2) != (ssize_t)(sizeof head + there)) abort();
  free(old);
  pthread_mutex_unlock(&lock);
}

static void synced(int fd) {
  struct stat is;
  struct watched *file = find(fd, &is);
  if (!file) return;
  pthread_mutex_lock(&lock);
  if (ftruncate(file->undo, 0) != 0) abort();
  note(file->name, is.st_size);
  pthread_mutex_unlock(&lock);
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t offset) {
  REAL(pwrite);
  remember(fd, count, offset);
  return real(fd, data, count, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t count, off64_t offset) {
  REAL(pwrite64);
  remember(fd, count, offset);
  return real(fd, data, count, offset);
}
int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  remember(fd, UINT64_MAX, length);
  return real(fd, length);
}
int fsync(int fd) {
  REAL(fsync);
  int failed = real(fd);
  if (!failed) synced(fd);
  return failed;
}
int fdatasync(int fd) {
  REAL(fdatasync);
  int failed = real(fd);
  if (!failed) synced(fd);
  return failed;
}
