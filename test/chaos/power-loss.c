/*
 * Loaded into a service with LD_PRELOAD. Keeps, beside an SQLite file, its WAL and its redo log, what must be put back
 * to see them as they were when they were last synced: before every write the bytes it replaces go into `<db>.undo-db`,
 * `<db>.undo-wal` or `<db>.undo-redo`, and a sync that has succeeded empties that file. So after a kill the power can be
 * taken away from what was never synced. `<db>.made-redo` is there while the redo log is a new name in its folder,
 * which was not synced since: then the whole file may be gone. `<db>.syncs` has a line per sync, and one for a WAL that
 * was begun anew while pages that had been copied from it into the database were not synced yet.
 *
 * Built by power-loss.ts. An undo record is four 64-bit numbers (where, how many bytes were there, the size of the
 * file, how many bytes come) and the bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
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
static struct watched files[] = {{"db", "", -1}, {"wal", "-wal", -1}, {"redo", ".redo", -1}};
#define FILES (int)(sizeof files / sizeof files[0])
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
  for (int i = 0; i < FILES; i++) {
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

/* The redo log is open for writing only. (To open one of SQLite's files a second time would cost it its locks.) */
static ssize_t read_old(int fd, struct watched *file, char *old, uint64_t count, uint64_t offset) {
  char path[64];
  if (file != &files[2]) return pread(fd, old, count, offset);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int reader = open(path, O_RDONLY | O_CLOEXEC);
  if (reader < 0) return -1;
  ssize_t done = pread(reader, old, count, offset);
  close(reader);
  return done;
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
  if (!old || (there && read_old(fd, file, old, there, offset) != (ssize_t)there)) abort();
  struct iovec record[2] = {{head, sizeof head}, {old, there}};
  if (writev(file->undo, record, 2) != (ssize_t)(sizeof head + there)) abort();
  free(old);
  pthread_mutex_unlock(&lock);
}

static void folder_synced(int fd);

static void synced(int fd) {
  struct stat is;
  folder_synced(fd);
  struct watched *file = find(fd, &is);
  if (!file) return;
  pthread_mutex_lock(&lock);
  if (ftruncate(file->undo, 0) != 0) abort();
  note(file->name, is.st_size);
  pthread_mutex_unlock(&lock);
}

/* The name of the redo log, or of the mark that it is new. */
static int beside(char *path, size_t size, const char *suffix) {
  const char *db = getenv("POWER_LOSS_DB");
  return db && snprintf(path, size, "%s%s", db, suffix) < (int)size;
}

/* A sync of the folder: what was made in it has its name for good. */
static void folder_synced(int fd) {
  char path[4096];
  struct stat is, at;
  if (!beside(path, sizeof path, "") || fstat(fd, &is) != 0 || !S_ISDIR(is.st_mode)) return;
  char *slash = strrchr(path, '/');
  if (slash) *slash = 0;
  if (!slash || stat(path, &at) != 0 || at.st_ino != is.st_ino || at.st_dev != is.st_dev) return;
  if (beside(path, sizeof path, ".made-redo")) unlink(path);
}

/* The redo log is begun anew by opening it: either it is cut, or it gets its name. */
static int open_watched(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  char redo[4096], made[4096];
  if ((flags & O_TRUNC) && beside(redo, sizeof redo, ".redo") && strcmp(redo, path) == 0) {
    int old = real(path, O_RDONLY | O_CLOEXEC);
    if (old >= 0) {
      remember(old, UINT64_MAX, 0);
      close(old);
    } else if (beside(made, sizeof made, ".made-redo")) {
      int mark = real(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (mark < 0) abort();
      close(mark);
    }
  }
  return real(path, flags, mode);
}

#define MODE_OF(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  REAL(open);
  MODE_OF(flags)
  return open_watched(real, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  REAL(open64);
  MODE_OF(flags)
  return open_watched(real, path, flags, mode);
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
