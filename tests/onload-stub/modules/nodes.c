// SPDX-License-Identifier: GPL-2.0-only
/* /dev/onload and /dev/onload_epoll, and onloadfs: the file system of which sockets are files, so that they read
 * "onload:[stack:3]" in /proc/PID/fd. An open file of either keeps the module loaded. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "onload.h"
#include "resource.h"
#include "stub_ioctl.h"

#define ONLOADFS_MAGIC 0x57ab

static struct vfsmount* onloadfs;

static char* onloadfs_name(struct dentry* entry, char* buffer, int size) {
  char name[48];
  const int length = snprintf(name, sizeof name, "onload:[%s]", entry->d_name.name) + 1;
  if (length > size || length > (int)sizeof name) return ERR_PTR(-ENAMETOOLONG);
  return memcpy(buffer + size - length, name, length);
}

static const struct dentry_operations onloadfs_entries = {.d_dname = onloadfs_name};

static int onloadfs_context(struct fs_context* context) {
  struct pseudo_fs_context* made = init_pseudo(context, ONLOADFS_MAGIC);
  if (!made) return -ENOMEM;
  made->dops = &onloadfs_entries;
  return 0;
}

/* No owner: the module mounts it itself and would never be free of it. Its files have one. */
static struct file_system_type onloadfs_type = {
    .name = "onloadfs", .init_fs_context = onloadfs_context, .kill_sb = kill_anon_super};
static const struct file_operations onloadfs_files = {.owner = THIS_MODULE};

static long stack_fd(u32 id) {
  char name[24];
  struct file* file;
  struct inode* inode = alloc_anon_inode(onloadfs->mnt_sb);
  const int fd = get_unused_fd_flags(O_CLOEXEC);
  if (fd < 0 || IS_ERR(inode)) {
    if (fd >= 0) put_unused_fd(fd);
    if (!IS_ERR(inode)) iput(inode);
    return fd < 0 ? fd : PTR_ERR(inode);
  }
  snprintf(name, sizeof name, "stack:%u", id);
  __module_get(THIS_MODULE); /* given back when the file is closed */
  file = alloc_file_pseudo(inode, onloadfs, name, O_RDWR, &onloadfs_files);
  if (IS_ERR(file)) {
    module_put(THIS_MODULE);
    put_unused_fd(fd);
    iput(inode);
    return PTR_ERR(file);
  }
  fd_install(fd, file);
  return fd;
}

static long check_version(const void __user* from) {
  struct stub_versions theirs;
  if (copy_from_user(&theirs, from, sizeof theirs)) return -EFAULT;
  theirs.version[sizeof theirs.version - 1] = 0;
  theirs.uk_intf_ver[sizeof theirs.uk_intf_ver - 1] = 0;
  if (strcmp(theirs.version, STUB_VERSION) == 0 && strcmp(theirs.uk_intf_ver, STUB_UK_INTF_VER) == 0) return 0;
  pr_err("[onload] user/driver version mismatch: user %s %s, driver %s %s\n", theirs.version, theirs.uk_intf_ver,
         STUB_VERSION, STUB_UK_INTF_VER);
  return -ELIBACC;
}

static long onload_ioctl(struct file* file, unsigned int request, unsigned long argument) {
  void __user* const at = (void __user*)argument;
  switch (request) {
    case STUB_CHECK_VERSION: return check_version(at);
    case STUB_ONLOADFS_DEV: return put_user((u64)new_encode_dev(onloadfs->mnt_sb->s_dev), (u64 __user*)at);
    case STUB_STACK_FD: {
      u32 id;
      return get_user(id, (u32 __user*)at) ? -EFAULT : stack_fd(id);
    }
    case STUB_SERVE: return cplane_serve(file);
  }
  return -ENOTTY;
}

static int onload_mmap(struct file* file, struct vm_area_struct* area) { return sfc_char_stub_map(area); }

static int onload_release(struct inode* inode, struct file* file) {
  cplane_forget(file);
  return 0;
}

static const struct file_operations onload_operations = {
    .owner = THIS_MODULE, .unlocked_ioctl = onload_ioctl, .mmap = onload_mmap, .release = onload_release};
static const struct file_operations epoll_operations = {.owner = THIS_MODULE};

static struct chardev onload_device = {.name = "onload"};
static struct chardev epoll_device = {.name = "onload_epoll"};

int nodes_create(int hidden) {
  int rc;
  onloadfs = kern_mount(&onloadfs_type);
  if (IS_ERR(onloadfs)) return PTR_ERR(onloadfs);
  rc = chardev_create(&onload_device, &onload_operations, hidden != 1);
  if (rc) goto no_onload;
  rc = chardev_create(&epoll_device, &epoll_operations, hidden != 2);
  if (rc == 0) return 0;
  chardev_destroy(&onload_device);
no_onload:
  kern_unmount(onloadfs);
  return rc;
}

void nodes_destroy(void) {
  chardev_destroy(&epoll_device);
  chardev_destroy(&onload_device);
  kern_unmount(onloadfs);
}
