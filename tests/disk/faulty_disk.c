// A disk that fails on demand, for a program that does not know: preload it (LD_PRELOAD) and name
//   NRD_DISK_DIR      the directory whose files are meant
//   NRD_DISK_CONTROL  a file shared with the test, which changes it at any time: five 64-bit numbers, and names
//                       [0] calls so far: write, pwrite, ftruncate, fsync, fdatasync, unlink below the directory
//                       [1] the call at which the fault strikes, counted as in [0]; 0: none
//                       [2] 1 kill -9 before the call, 2 fail that call, 3 fail it and all that follow
//                       [3] the errno to fail with
//                       [4] 1: only fsync and fdatasync are counted and fail
//                     then 32 bytes for each call counted, as far as the file goes: "write nrd.db-wal", "sync nrd.db"
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
#include <sys/stat.h>
#include <unistd.h>

struct control {
  int64_t number[5];
  char call[][32];
};
static int64_t calls_that_fit;

static volatile struct control* control(void) {
  static volatile struct control* shared;
  const char* path = getenv("NRD_DISK_CONTROL");
  if (shared || !path) return shared;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  struct stat file;
  if (fd < 0) return NULL;
  if (fstat(fd, &file) == 0 && file.st_size >= (off_t)sizeof *shared) {
    void* mapped = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    calls_that_fit = (file.st_size - (off_t)sizeof *shared) / (off_t)sizeof shared->call[0];
    if (mapped != MAP_FAILED) shared = mapped;
  }
  close(fd);
  return shared;
}

static int is_below(const char* path) {
  const char* directory = getenv("NRD_DISK_DIR");
  return directory && strncmp(path, directory, strlen(directory)) == 0;
}

// The file's name, for as long as this thread asks for no other. NULL: not below the directory.
static const char* name_of(int fd) {
  static __thread char path[PATH_MAX];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  return is_below(path) ? path : NULL;
}

// The errno to fail with, 0 to go on.
static int strike(const char* does, const char* path) {
  volatile struct control* c = control();
  if (!path || !c || (c->number[4] && strcmp(does, "sync") != 0)) return 0;
  const int64_t call = __atomic_add_fetch(&c->number[0], 1, __ATOMIC_SEQ_CST);
  if (call <= calls_that_fit) {
    const char* slash = strrchr(path, '/');
    snprintf((char*)c->call[call - 1], sizeof c->call[0], "%s %s", does, slash ? slash + 1 : path);
  }
  if (c->number[1] == 0 || call < c->number[1] || (call > c->number[1] && c->number[2] != 3)) return 0;
  if (c->number[2] == 1) kill(getpid(), SIGKILL);
  return (int)c->number[3];
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
#define FAIL_IF_STRUCK(does, path)          \
  do {                                      \
    const int error = strike(does, (path)); \
    if (error) {                            \
      errno = error;                        \
      return -1;                            \
    }                                       \
  } while (0)

ssize_t write(int fd, const void* bytes, size_t size) {
  FAIL_IF_STRUCK("write", name_of(fd));
  return NEXT(ssize_t(*)(int, const void*, size_t), "write")(fd, bytes, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  FAIL_IF_STRUCK("write", name_of(fd));
  return NEXT(ssize_t(*)(int, const void*, size_t, off_t), "pwrite")(fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  FAIL_IF_STRUCK("write", name_of(fd));
  return NEXT(ssize_t(*)(int, const void*, size_t, off64_t), "pwrite64")(fd, bytes, size, at);
}
// What Python's os.pwritev calls.
ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  FAIL_IF_STRUCK("write", name_of(fd));
  return NEXT(ssize_t(*)(int, const struct iovec*, int, off_t, int), "pwritev2")(fd, parts, count, at, flags);
}
ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off64_t at, int flags) {
  FAIL_IF_STRUCK("write", name_of(fd));
  return NEXT(ssize_t(*)(int, const struct iovec*, int, off64_t, int), "pwritev64v2")(fd, parts, count, at, flags);
}
int ftruncate(int fd, off_t size) {
  FAIL_IF_STRUCK("truncate", name_of(fd));
  return NEXT(int (*)(int, off_t), "ftruncate")(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  FAIL_IF_STRUCK("truncate", name_of(fd));
  return NEXT(int (*)(int, off64_t), "ftruncate64")(fd, size);
}
int fsync(int fd) {
  FAIL_IF_STRUCK("sync", name_of(fd));
  return NEXT(int (*)(int), "fsync")(fd);
}
int fdatasync(int fd) {
  FAIL_IF_STRUCK("sync", name_of(fd));
  return NEXT(int (*)(int), "fdatasync")(fd);
}
int unlink(const char* path) {
  FAIL_IF_STRUCK("unlink", is_below(path) ? path : NULL);
  return NEXT(int (*)(const char*), "unlink")(path);
}
