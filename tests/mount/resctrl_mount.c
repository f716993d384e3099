// The kernel's side of mounting resctrl, on the simulated node: preloaded into nrd by tests.
//
// The node's tree is a FUSE file system, which mount(2) knows nothing of. These two calls do to it what the kernel does
// to resctrl: a new mount has no groups, and its options decide the unit of bandwidth. The options of each call are
// appended to the file NRD_RESCTRL_MOUNTS; NRD_SIMNODE_CONTROL is the node's control socket. NRD_RESCTRL_BUSY: another
// process has it mounted, so it cannot be mounted again. NRD_RESCTRL_NO_MBPS: the kernel has no mba_MBps for this CPU.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char kTree[] = "/sys/fs/resctrl";

static void note(const char* call, const char* options) {
  FILE* notes = fopen(getenv("NRD_RESCTRL_MOUNTS"), "ae");
  if (notes == NULL) abort();
  fprintf(notes, "%s %s\n", call, options);
  fclose(notes);
}

static void tell_node(const char* request) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, getenv("NRD_SIMNODE_CONTROL"), sizeof address.sun_path - 1);
  const int node = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char answer[16] = "";
  const size_t length = strlen(request);
  if (connect(node, (struct sockaddr*)&address, sizeof address) != 0 ||
      write(node, request, length) != (ssize_t)length || read(node, answer, sizeof answer - 1) < 2 ||
      strncmp(answer, "ok", 2) != 0) {
    abort();
  }
  close(node);
}

int umount2(const char* target, int flags) {
  if (strcmp(target, kTree) != 0) return ((int (*)(const char*, int))dlsym(RTLD_NEXT, "umount2"))(target, flags);
  note("umount", "");
  return 0;
}

int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data) {
  if (strcmp(target, kTree) != 0) {
    return ((int (*)(const char*, const char*, const char*, unsigned long, const void*))dlsym(RTLD_NEXT, "mount"))(
        source, target, type, flags, data);
  }
  const char* options = data == NULL ? "" : data;
  note("mount", options);
  if (getenv("NRD_RESCTRL_BUSY") != NULL) {
    errno = EBUSY;
    return -1;
  }
  if (getenv("NRD_RESCTRL_NO_MBPS") != NULL && strstr(options, "mba_MBps") != NULL) {
    errno = EINVAL;
    return -1;
  }
  tell_node(strstr(options, "mba_MBps") != NULL ? "remount mbps\n" : "remount percent\n");
  return 0;
}
