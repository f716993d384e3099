// SPDX-License-Identifier: GPL-2.0-only
/* Stands for `sfc_char`, the device of programs that use ef_vi without Onload. */
#include <linux/module.h>

#include "chardev.h"
#include "faults.h"
#include "resource.h"

static int phys_mode_gid, mac_filters_gid;
module_param(phys_mode_gid, int, 0644);
module_param(mac_filters_gid, int, 0644);

int sfc_char_stub_map(struct vm_area_struct* area) { return efrm_stub_map(area); }
EXPORT_SYMBOL_GPL(sfc_char_stub_map);

static int char_mmap(struct file* file, struct vm_area_struct* area) { return sfc_char_stub_map(area); }

static const struct file_operations operations = {.owner = THIS_MODULE, .mmap = char_mmap};
static struct chardev device = {.name = "sfc_char"};

static int __init char_init(void) {
  const int rc = faults_on_init();
  if (rc) {
    pr_err("[sfc_char] init_sfc_char: ERROR: failed (%d)\n", rc);
    return rc;
  }
  return chardev_create(&device, &operations, stub_hide_node != 1);
}

static void __exit char_exit(void) {
  faults_on_exit();
  chardev_destroy(&device);
}

module_init(char_init);
module_exit(char_exit);
MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Stub of a character device, for tests");
