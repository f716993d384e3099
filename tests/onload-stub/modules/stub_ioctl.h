/* SPDX-License-Identifier: GPL-2.0-only */
/* What the stub's library and server ask of /dev/onload. */
#ifndef ONLOAD_STUB_IOCTL_H
#define ONLOAD_STUB_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct stub_versions {
  char version[32];
  char uk_intf_ver[36];
};

#define STUB_CHECK_VERSION _IOW('o', 1, struct stub_versions) /* ELIBACC unless both are the module's */
#define STUB_ONLOADFS_DEV _IOR('o', 2, __u64)                 /* the device that onloadfs files are on */
#define STUB_STACK_FD _IOW('o', 3, __u32)                     /* a file that reads "onload:[stack:N]" in /proc */
#define STUB_SERVE _IO('o', 4)                                /* the caller is the server of its network namespace */

#endif
