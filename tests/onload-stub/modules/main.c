// SPDX-License-Identifier: GPL-2.0-only
/* Stands for `onload`: parameters, what /proc/driver/onload says about the release, and the order of coming and going.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "faults.h"
#include "onload.h"
#include "resource.h"

/* Parameters that a node daemon sets; those of the control plane are in cplane.c. They have no effect here. */
#define NUMBER(name, initial)  \
  static int name = (initial); \
  module_param(name, int, 0644)
#define SWITCH(name, initial)   \
  static bool name = (initial); \
  module_param(name, bool, 0644)

NUMBER(inject_kernel_gid, 0);
NUMBER(phys_mode_gid, -2);
NUMBER(scalable_filter_gid, -2);
NUMBER(max_packets_per_stack, 0x80000);
NUMBER(epoll_max_stacks, 16);
NUMBER(oof_shared_keep_thresh, 100);
NUMBER(oof_shared_steal_thresh, 200);
NUMBER(timesync_period, 500);
SWITCH(oo_accelerate_veth, false);
SWITCH(allow_insecure_setuid_sharing, false);
SWITCH(oof_all_ports_required, true);
SWITCH(oof_use_all_local_ip_addresses, false);

static bool stub_wrong_version;
module_param(stub_wrong_version, bool, 0644);
MODULE_PARM_DESC(stub_wrong_version, "/proc/driver/onload/version tells of another release");

#ifdef STUB_UNKNOWN_SYMBOL
extern int efrm_symbol_of_another_release(void);
#endif

static struct proc_dir_entry* folder;

static int version_show(struct seq_file* out, void* unused) {
  seq_printf(out, "onload_product: OpenOnload\nonload_version: %s\nuk_intf_ver: %s\n",
             stub_wrong_version ? "0.0.0.0" : STUB_VERSION,
             stub_wrong_version ? "00000000000000000000000000000000" : STUB_UK_INTF_VER);
  return 0;
}

static int hwports_show(struct seq_file* out, void* unused) {
  efrm_stub_show_nics(out);
  return 0;
}

static int ipaddrs_show(struct seq_file* out, void* unused) { return 0; }

static int create_all(void) {
  int rc = -ENOMEM;
  if (!proc_create_single("version", 0444, folder, version_show) ||
      !proc_create_single("filter_hwports", 0444, folder, hwports_show) ||
      !proc_create_single("filter_ipaddrs", 0444, folder, ipaddrs_show))
    return rc;
  rc = cplane_create(folder);
  if (rc) return rc;
  rc = stacks_create(folder);
  if (rc) return rc;
  rc = nodes_create(stub_hide_node);
  if (rc) stacks_destroy();
  return rc;
}

static int __init onload_init(void) {
  int rc = faults_on_init();
#ifdef STUB_UNKNOWN_SYMBOL
  if (rc == 0) rc = efrm_symbol_of_another_release();
#endif
  if (rc) {
    pr_err("[onload] onload_module_init: ERROR: failed (%d)\n", rc);
    return rc;
  }
  folder = proc_mkdir("driver/onload", NULL);
  if (!folder) return -ENOMEM;
  rc = create_all();
  if (rc) {
    proc_remove(folder);
    return rc;
  }
  cplane_start();
  return 0;
}

/* No server is left: it would hold /dev/onload open, and the kernel would not have come here. */
static void __exit onload_exit(void) {
  faults_on_exit();
  cplane_stop();
  nodes_destroy();
  stacks_destroy();
  proc_remove(folder);
}

module_init(onload_init);
module_exit(onload_exit);
MODULE_LICENSE("GPL v2");
MODULE_VERSION(STUB_VERSION);
MODULE_DESCRIPTION("Stub of Onload, for tests");
