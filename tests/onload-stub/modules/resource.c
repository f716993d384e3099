// SPDX-License-Identifier: GPL-2.0-only
/* Stands for `sfc_resource`: knows the interfaces that can be accelerated. Those below a driver `sfc` are there by
 * themselves, others after they were registered for AF_XDP in /sys/module/sfc_resource/afxdp. */
#include "resource.h"

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "faults.h"

static int pio = 1, force_ev_timer;
static bool enable_accel_by_default = true, enable_driverlink = true, enable_af_xdp_flow_filters = true;
static char* bpf_link_helper = "/sbin/bpf_link_helper";
module_param(pio, int, 0444);
module_param(force_ev_timer, int, 0444);
module_param(enable_accel_by_default, bool, 0644);
module_param(enable_driverlink, bool, 0644);
module_param(enable_af_xdp_flow_filters, bool, 0644);
module_param(bpf_link_helper, charp, 0644);

struct nic {
  struct list_head link;
  struct net_device* net;
  struct proc_dir_entry* folder;
  bool enabled;
  bool by_afxdp;
};

static LIST_HEAD(nics);
static DEFINE_MUTEX(nics_lock);
static struct proc_dir_entry *proc_root, *proc_devices;
static struct kobject* afxdp_folder;
static struct page* page;

int efrm_stub_map(struct vm_area_struct* area) { return vm_insert_page(area, area->vm_start, page); }
EXPORT_SYMBOL_GPL(efrm_stub_map);

void efrm_stub_show_nics(struct seq_file* out) {
  struct nic* nic;
  int hwport = 0;
  mutex_lock(&nics_lock);
  list_for_each_entry(nic, &nics, link) seq_printf(out, "hwport%d: %s\n", hwport++, nic->net->name);
  mutex_unlock(&nics_lock);
}
EXPORT_SYMBOL_GPL(efrm_stub_show_nics);

static struct nic* nic_of(const struct net_device* net) {
  struct nic* nic;
  list_for_each_entry(nic, &nics, link) if (nic->net == net) return nic;
  return NULL;
}

/* /sys/class/net/IF/device/sfc_resource/enable */
static struct nic* nic_of_device(const struct device* device) {
  struct nic* nic;
  list_for_each_entry(nic, &nics, link) if (nic->net->dev.parent == device) return nic;
  return NULL;
}

static ssize_t enable_show(struct device* device, struct device_attribute* attribute, char* text) {
  struct nic* nic;
  bool enabled;
  mutex_lock(&nics_lock);
  nic = nic_of_device(device);
  enabled = nic && nic->enabled;
  mutex_unlock(&nics_lock);
  return sysfs_emit(text, "%d\n", enabled);
}

static ssize_t enable_store(struct device* device, struct device_attribute* attribute, const char* text, size_t size) {
  struct nic* nic;
  bool enabled;
  const int rc = kstrtobool(text, &enabled);
  if (rc) return rc;
  mutex_lock(&nics_lock);
  nic = nic_of_device(device);
  if (nic) nic->enabled = enabled;
  mutex_unlock(&nics_lock);
  return nic ? (ssize_t)size : -ENODEV;
}

static DEVICE_ATTR_RW(enable);
static struct attribute* nic_attributes[] = {&dev_attr_enable.attr, NULL};
static const struct attribute_group nic_group = {.name = "sfc_resource", .attrs = nic_attributes};

static int nic_add(struct net_device* net, bool by_afxdp) {
  struct nic* nic;
  int rc = -EALREADY;
  mutex_lock(&nics_lock);
  if (nic_of(net)) goto out;
  nic = kzalloc(sizeof *nic, GFP_KERNEL);
  rc = nic ? 0 : -ENOMEM;
  if (rc) goto out;
  nic->net = net;
  nic->enabled = enable_accel_by_default;
  nic->by_afxdp = by_afxdp;
  nic->folder = proc_mkdir(net->name, proc_devices);
  if (net->dev.parent) rc = sysfs_create_group(&net->dev.parent->kobj, &nic_group);
  if (rc) {
    proc_remove(nic->folder);
    kfree(nic);
    goto out;
  }
  list_add_tail(&nic->link, &nics);
out:
  mutex_unlock(&nics_lock);
  return rc;
}

static void nic_remove(struct net_device* net) {
  struct nic* nic;
  mutex_lock(&nics_lock);
  nic = nic_of(net);
  if (nic) list_del(&nic->link);
  mutex_unlock(&nics_lock);
  if (!nic) return;
  /* Without the lock: it waits for those who are in enable_store. */
  if (net->dev.parent) sysfs_remove_group(&net->dev.parent->kobj, &nic_group);
  proc_remove(nic->folder);
  kfree(nic);
}

static int net_event(struct notifier_block* block, unsigned long event, void* about) {
  struct net_device* net = netdev_notifier_info_to_dev(about);
  const struct device* parent = net->dev.parent;
  if (event == NETDEV_REGISTER && parent && parent->driver && strcmp(parent->driver->name, "sfc") == 0)
    nic_add(net, false);
  if (event == NETDEV_UNREGISTER) nic_remove(net);
  return NOTIFY_DONE;
}

/* Tells of all that are there when it is registered, and takes leave of all when it goes. */
static struct notifier_block net_notifier = {.notifier_call = net_event};

/* "<interface>[ <number of instances>]\n", an interface of the writer's network namespace. */
static struct net_device* afxdp_interface(const char* text, size_t size, int* rc) {
  char name[IFNAMSIZ];
  unsigned int instances;
  int used = 0;
  struct net_device* net = NULL;
  *rc = -EINVAL;
  if (size == 0 || text[size - 1] != '\n') return NULL;
  if (sscanf(text, "%15s%n", name, &used) != 1) return NULL;
  if (text[used] != '\n' && sscanf(text + used, " %u", &instances) != 1) return NULL;
  net = dev_get_by_name(current->nsproxy->net_ns, name);
  *rc = net ? 0 : -ENOENT;
  return net;
}

static ssize_t register_store(struct kobject* folder, struct kobj_attribute* file, const char* text, size_t size) {
  int rc;
  struct net_device* net = afxdp_interface(text, size, &rc);
  if (!net) return rc;
  rc = nic_add(net, true);
  dev_put(net);
  return rc ? rc : (ssize_t)size;
}

/* Never lets an interface go: that takes unloading the module. */
static ssize_t unregister_store(struct kobject* folder, struct kobj_attribute* file, const char* text, size_t size) {
  int rc;
  struct nic* nic;
  struct net_device* net = afxdp_interface(text, size, &rc);
  if (!net) return rc;
  mutex_lock(&nics_lock);
  nic = nic_of(net);
  rc = nic && nic->by_afxdp ? -EBUSY : -ENOENT;
  mutex_unlock(&nics_lock);
  dev_put(net);
  return rc;
}

static struct kobj_attribute register_file = __ATTR(register, 0600, NULL, register_store);
static struct kobj_attribute unregister_file = __ATTR(unregister, 0600, NULL, unregister_store);
static const struct attribute* afxdp_files[] = {&register_file.attr, &unregister_file.attr, NULL};

static int resources_show(struct seq_file* out, void* unused) {
  seq_puts(out, "VI: total=0 current=0 max=0\nVI_SET: total=0 current=0 max=0\nPD: total=0 current=0 max=0\n");
  return 0;
}

static void forget(void) {
  if (afxdp_folder) sysfs_remove_files(afxdp_folder, afxdp_files);
  kobject_put(afxdp_folder);
  proc_remove(proc_root);
  __free_page(page);
}

static int __init resource_init(void) {
  int rc = faults_on_init();
  if (rc == -ENOENT) pr_err("[sfc efrm] init_sfc_resource: ERROR: failed to find syscall table\n");
  if (rc) return rc;
  page = alloc_page(GFP_KERNEL | __GFP_ZERO);
  if (!page) return -ENOMEM;
  proc_root = proc_mkdir("driver/sfc_resource", NULL);
  proc_devices = proc_root ? proc_mkdir("devices", proc_root) : NULL;
  afxdp_folder = kobject_create_and_add("afxdp", &THIS_MODULE->mkobj.kobj);
  rc = -ENOMEM;
  if (proc_devices && afxdp_folder && proc_create_single("resources", 0444, proc_root, resources_show)) {
    rc = sysfs_create_files(afxdp_folder, afxdp_files);
    if (rc == 0) rc = register_netdevice_notifier(&net_notifier);
  }
  if (rc) forget();
  return rc;
}

static void __exit resource_exit(void) {
  faults_on_exit();
  unregister_netdevice_notifier(&net_notifier);
  forget();
}

module_init(resource_init);
module_exit(resource_exit);
MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Stub of a resource manager, for tests");
