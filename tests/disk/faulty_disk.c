// A disk that fails on demand, for a program that does not know: preload it (LD_PRELOAD) and name
//   NRD_DISK_DIR      the directory whose files are meant
//   NRD_DISK_CONTROL  a file of five 64-bit numbers, shared with the test and changed by it at any time:
//                       [0] calls so far: write, pwrite, ftruncate, fsync, fdatasync, unlink below the directory
//                       [1] the call at which the fault strikes, counted as in [0]; 0: none
//                       [2] 1 kill -9 before the call, 2 fail that call, 3 fail it and all that follow
//                       [3] the errno to fail with
//                       [4] 1: only fsync and fdatasync are counted and fail
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int64_t* control(void) {
  static volatile int64_t* shared;
  const char* path = getenv("NRD_DISK_CONTROL");
  if (shared || !path) return shared;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  void* mapped = mmap(NULL, 5 * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) shared = mapped;
  return shared;
}

static int is_below(const char* path) {
  const char* directory = getenv("NRD_DISK_DIR");
  return directory && strncmp(path, directory, strlen(directory)) == 0;
}

static int is_meant(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(path);
}

// The errno to fail with, 0 to go on.
static int strike(int is_sync) {
  volatile int64_t* c = control();
  if (!c || (c[4] && !is_sync)) return 0;
  const int64_t call = __atomic_add_fetch(&c[0], 1, __ATOMIC_SEQ_CST);
  if (c[1] == 0 || call < c[1] || (call > c[1] && c[2] != 3)) return 0;
  if (c[2] == 1) kill(getpid(), SIGKILL);
  return (int)c[3];
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
#define FAIL_IF_STRUCK(meant, is_sync)               \
  do {                                               \
    const int error = (meant) ? strike(is_sync) : 0; \
    if (error) {                                     \
      errno = error;                                 \
      return -1;                                     \
    }                                                \
  } while (0)

ssize_t write(int fd, const void* bytes, size_t size) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(ssize_t(*)(int, const void*, size_t), "write")(fd, bytes, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(ssize_t(*)(int, const void*, size_t, off_t), "pwrite")(fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(ssize_t(*)(int, const void*, size_t, off64_t), "pwrite64")(fd, bytes, size, at);
}
// What Python's os.pwritev calls.
ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(ssize_t(*)(int, const struct iovec*, int, off_t, int), "pwritev2")(fd, parts, count, at, flags);
}
ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off64_t at, int flags) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(ssize_t(*)(int, const struct iovec*, int, off64_t, int), "pwritev64v2")(fd, parts, count, at, flags);
}
int ftruncate(int fd, off_t size) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(int (*)(int, off_t), "ftruncate")(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  FAIL_IF_STRUCK(is_meant(fd), 0);
  return NEXT(int (*)(int, off64_t), "ftruncate64")(fd, size);
}
int fsync(int fd) {
  FAIL_IF_STRUCK(is_meant(fd), 1);
  return NEXT(int (*)(int), "fsync")(fd);
}
int fdatasync(int fd) {
  FAIL_IF_STRUCK(is_meant(fd), 1);
  return NEXT(int (*)(int), "fdatasync")(fd);
}
int unlink(const char* path) {
  FAIL_IF_STRUCK(is_below(path), 0);
  return NEXT(int (*)(const char*), "unlink")(path);
}
