/* SPDX-License-Identifier: GPL-2.0-only */
/* A character device as Onload makes them: its own dynamic major, a class of its name, a node for all users. */
#ifndef ONLOAD_STUB_CHARDEV_H
#define ONLOAD_STUB_CHARDEV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>

struct chardev {
  const char* name;
  dev_t number;
  struct cdev cdev;
  struct class* class;
};

static char* chardev_mode(struct device* device, umode_t* mode) {
  if (mode) *mode = 0666;
  return NULL;
}

/* Without its node a device is in /proc/devices, but has neither a place in sysfs nor one in /dev. */
static int chardev_create(struct chardev* dev, const struct file_operations* operations, bool with_node) {
  struct device* node;
  int rc = alloc_chrdev_region(&dev->number, 0, 1, dev->name);
  if (rc) return rc;
  cdev_init(&dev->cdev, operations);
  dev->cdev.owner = THIS_MODULE;
  dev->class = class_create(THIS_MODULE, dev->name);
  rc = PTR_ERR_OR_ZERO(dev->class);
  if (rc) goto no_class;
  dev->class->devnode = chardev_mode;
  rc = cdev_add(&dev->cdev, dev->number, 1);
  if (rc) goto no_cdev;
  if (!with_node) return 0;
  node = device_create(dev->class, NULL, dev->number, NULL, "%s", dev->name);
  if (!IS_ERR(node)) return 0;
  rc = PTR_ERR(node);
  cdev_del(&dev->cdev);
no_cdev:
  class_destroy(dev->class);
no_class:
  unregister_chrdev_region(dev->number, 1);
  return rc;
}

static void chardev_destroy(struct chardev* dev) {
  device_destroy(dev->class, dev->number);
  cdev_del(&dev->cdev);
  class_destroy(dev->class);
  unregister_chrdev_region(dev->number, 1);
}

#endif
