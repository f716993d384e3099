// SPDX-License-Identifier: GPL-2.0-only
// Stands for libonload.so. Run as a program it prints its release; preloaded, it opens /dev/onload for as long as the
// process lives, as a program with accelerated sockets does.
//   ONLOAD_STUB_PRELOAD_ONLY=1    is mapped and opens nothing
//   ONLOAD_STUB_STACK=N           also holds a file "onload:[stack:N]"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../modules/stub_ioctl.h"

const char interpreter[] __attribute__((section(".interp"))) = "/lib64/ld-linux-x86-64.so.2";

// The entry point. Nothing of libc was started, so only system calls are used.
__attribute__((force_align_arg_pointer, noreturn, visibility("default"))) void print_banner(void) {
  static const char text[] =
      "OpenOnload " STUB_VERSION
      " (stub)\nCopyright (c) the authors of nrd\nBuilt: for tests (release)\nOnload Profile header: " STUB_UK_INTF_VER
      "\n";
  const ssize_t written = write(1, text, sizeof text - 1);
  _exit(written == (ssize_t)sizeof text - 1 ? 0 : 1);
}

__attribute__((constructor)) static void preloaded(void) {
  const struct stub_versions mine = {STUB_VERSION, STUB_UK_INTF_VER};
  const char* stack = getenv("ONLOAD_STUB_STACK");
  if (getenv("ONLOAD_STUB_PRELOAD_ONLY")) return;
  const int fd = open("/dev/onload", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (ioctl(fd, STUB_CHECK_VERSION, &mine)) {
    fprintf(stderr, "onload-stub: user/driver version mismatch; reload the sfc and onload drivers\n");
    close(fd);
    return;
  }
  const uint32_t id = stack ? (uint32_t)strtoul(stack, NULL, 10) : 0;
  if (stack && ioctl(fd, STUB_STACK_FD, &id) < 0) perror("onload-stub: stack");
}
