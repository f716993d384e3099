// SPDX-License-Identifier: GPL-2.0-only
// Stands for the control plane server. It holds /dev/onload open and does nothing else until SIGTERM, SIGINT or
// SIGQUIT.
//
// It takes the options that the module adds and, of the many that an operator may, -K (--log-to-kmsg), -h N
// (--hwport-max), -t N (--time-to-live) and --verify-routes. For tests:
//   --stub-ignore-sigterm     has to be killed
//   --stub-start-late=MS      is a process at once, and a server only then
//   --stub-crash-after=MS     ends as if by a fault
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "../modules/stub_ioctl.h"

static bool ignore_sigterm, daemonise;
static int log_to = 2;
static long late_ms, crash_ms = -1;
static uid_t uid;
static gid_t gid;
static const char* netns;

static void say(const char* text) {
  char line[256];
  // One write is one line of the kernel's log.
  const int length = snprintf(line, sizeof line, "onload_cp_server[%d]: %s\n", getpid(), text);
  if (write(log_to, line, (size_t)length) != length) exit(1);
}

static void die(const char* what) {
  char text[128];
  snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
  say(text);
  exit(1);
}

static void pause_ms(long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) && errno == EINTR) {
  }
}

static void read_options(int argc, char** argv) {
  enum {
    kDaemonise = 256,
    kBootstrap,
    kNoIpv6,
    kNoSource,
    kUid,
    kGid,
    kNetns,
    kIgnore,
    kLate,
    kCrash,
    kVersion,
    kVerifyRoutes
  };
  static const struct option known[] = {{"log-to-kmsg", no_argument, NULL, 'K'},
                                        {"daemonise", no_argument, NULL, kDaemonise},
                                        {"bootstrap", no_argument, NULL, kBootstrap},
                                        {"no-ipv6", no_argument, NULL, kNoIpv6},
                                        {"ipv6-no-source", no_argument, NULL, kNoSource},
                                        {"uid", required_argument, NULL, kUid},
                                        {"gid", required_argument, NULL, kGid},
                                        {"network-namespace-file", required_argument, NULL, kNetns},
                                        {"stub-ignore-sigterm", no_argument, NULL, kIgnore},
                                        {"stub-start-late", required_argument, NULL, kLate},
                                        {"stub-crash-after", required_argument, NULL, kCrash},
                                        {"version", no_argument, NULL, kVersion},
                                        {"verify-routes", no_argument, NULL, kVerifyRoutes},
                                        {"hwport-max", required_argument, NULL, 'h'},
                                        {"time-to-live", required_argument, NULL, 't'},
                                        {NULL, 0, NULL, 0}};
  int option;
  while ((option = getopt_long(argc, argv, "Kh:t:", known, NULL)) != -1) {
    switch (option) {
      case 'K':
        log_to = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);  // while it is still allowed to
        if (log_to < 0) exit(1);
        break;
      case kDaemonise: daemonise = true; break;
      case kBootstrap:
      case 'h':
      case 't':
      case kVerifyRoutes:
      case kNoIpv6:
      case kNoSource: break;
      case kUid: uid = (uid_t)strtoul(optarg, NULL, 10); break;
      case kGid: gid = (gid_t)strtoul(optarg, NULL, 10); break;
      case kNetns: netns = optarg; break;
      case kIgnore: ignore_sigterm = true; break;
      case kLate: late_ms = strtol(optarg, NULL, 10); break;
      case kCrash: crash_ms = strtol(optarg, NULL, 10); break;
      case kVersion: printf("onload_cp_server %s\n", STUB_VERSION); exit(0);
      default: say("unknown option"); exit(1);
    }
  }
}

static void serve(void) {
  const struct stub_versions mine = {STUB_VERSION, STUB_UK_INTF_VER};
  if (netns) {
    const int fd = open(netns, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET)) die(netns);
    close(fd);
  }
  const int fd = open("/dev/onload", O_RDWR | O_CLOEXEC);
  if (fd < 0) die("/dev/onload");
  if (ioctl(fd, STUB_CHECK_VERSION, &mine)) die("user/driver cplane interface mismatch");
  if (ioctl(fd, STUB_SERVE)) die("/dev/onload: serve");
  if (gid && setgid(gid)) die("setgid");
  if (uid && setuid(uid)) die("setuid");
}

int main(int argc, char** argv) {
  // Started by the kernel, it has no files at all.
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  close(fd);
  read_options(argc, argv);
  if (ignore_sigterm) signal(SIGTERM, SIG_IGN);
  if (daemonise && daemon(0, 1)) die("daemon");
  pause_ms(late_ms);
  serve();
  say("serves");
  if (crash_ms >= 0) {
    pause_ms(crash_ms);
    say("crashes");
    abort();
  }
  for (;;) pause();
}
