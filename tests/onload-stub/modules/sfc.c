// SPDX-License-Identifier: GPL-2.0-only
/* Stands for the network driver `sfc`: two interfaces below a driver of that name. They are of the cards of cards.c if
 * those are there, otherwise of platform devices that come and go with it. It shares no symbol with the others, so the
 * kernel unloads it below a loaded onload, as it does with the real one. */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>

#include "cards.h"
#include "faults.h"

#define PORTS 2

static bool phys_port_names;
module_param(phys_port_names, bool, 0444);
MODULE_PARM_DESC(phys_port_names, "ports are p0 and p1, and names end in np0 and np1, as udev would choose them");

static struct platform_device* devices[PORTS];
static bool on_cards;

static int port_of(const struct net_device* net) {
  const struct device* parent = net->dev.parent;
  return dev_is_pci(parent) ? PCI_FUNC(to_pci_dev(parent)->devfn) : to_platform_device(parent)->id;
}

static netdev_tx_t sfc_transmit(struct sk_buff* packet, struct net_device* net) {
  dev_kfree_skb(packet);
  return NETDEV_TX_OK;
}

static int sfc_phys_port_name(struct net_device* net, char* name, size_t size) {
  if (!phys_port_names) return -EOPNOTSUPP;
  return snprintf(name, size, "p%d", port_of(net)) < (int)size ? 0 : -EINVAL;
}

static const struct net_device_ops net_operations = {
    .ndo_start_xmit = sfc_transmit,
    .ndo_set_mac_address = eth_mac_addr,
    .ndo_get_phys_port_name = sfc_phys_port_name,
};

static void sfc_driver_info(struct net_device* net, struct ethtool_drvinfo* info) {
  strscpy(info->driver, "sfc", sizeof info->driver);
  strscpy(info->version, STUB_VERSION, sizeof info->version);
}

static int sfc_link(struct net_device* net, struct ethtool_link_ksettings* link) {
  link->base.speed = SPEED_10000;
  link->base.duplex = DUPLEX_FULL;
  return 0;
}

static const struct ethtool_ops ethtool_operations = {
    .get_drvinfo = sfc_driver_info,
    .get_link = ethtool_op_get_link,
    .get_link_ksettings = sfc_link,
};

static int make_interface(struct device* device, int port) {
  u8 address[ETH_ALEN] = {0x00, 0x0f, 0x53, 0x00, 0x00, 0x01};
  struct net_device* net = alloc_etherdev(0);
  int rc;
  if (!net) return -ENOMEM;
  SET_NETDEV_DEV(net, device);
  net->netdev_ops = &net_operations;
  net->ethtool_ops = &ethtool_operations;
  address[5] += port;
  eth_hw_addr_set(net, address);
  snprintf(net->name, IFNAMSIZ, phys_port_names ? "enp1s0f%dnp%d" : "enp1s0f%d", port, port);
  dev_set_drvdata(device, net);
  rc = register_netdev(net);
  if (rc) free_netdev(net);
  return rc;
}

static void remove_interface(struct device* device) {
  struct net_device* net = dev_get_drvdata(device);
  unregister_netdev(net);
  free_netdev(net);
}

static int sfc_probe(struct platform_device* device) { return make_interface(&device->dev, device->id); }

static int sfc_remove(struct platform_device* device) {
  remove_interface(&device->dev);
  return 0;
}

static struct platform_driver driver = {.driver = {.name = "sfc"}, .probe = sfc_probe, .remove = sfc_remove};

static int card_probe(struct pci_dev* card, const struct pci_device_id* id) {
  return make_interface(&card->dev, PCI_FUNC(card->devfn));
}

static void card_remove(struct pci_dev* card) { remove_interface(&card->dev); }

static const struct pci_device_id card_ids[] = {{PCI_DEVICE(STUB_CARD_VENDOR, STUB_CARD_DEVICE)}, {}};
static struct pci_driver card_driver = {
    .name = "sfc", .id_table = card_ids, .probe = card_probe, .remove = card_remove};

static bool has_cards(void) {
  struct pci_dev* card = pci_get_device(STUB_CARD_VENDOR, STUB_CARD_DEVICE, NULL);
  pci_dev_put(card);
  return card != NULL;
}

static void remove_devices(void) {
  int port;
  for (port = 0; port < PORTS; ++port) platform_device_unregister(devices[port]);
  platform_driver_unregister(&driver);
}

static int __init sfc_init(void) {
  int port, rc = faults_on_init();
  if (rc) return rc;
  on_cards = has_cards();
  if (on_cards) return pci_register_driver(&card_driver);
  rc = platform_driver_register(&driver);
  if (rc) return rc;
  for (port = 0; port < PORTS; ++port) {
    struct platform_device* device = platform_device_register_simple("sfc", port, NULL, 0);
    if (IS_ERR(device)) {
      remove_devices(); /* those that are not there yet are NULL, which is no device to unregister */
      return PTR_ERR(device);
    }
    devices[port] = device;
  }
  return 0;
}

static void __exit sfc_exit(void) {
  faults_on_exit();
  if (on_cards) {
    pci_unregister_driver(&card_driver);
  } else {
    remove_devices();
  }
}

module_init(sfc_init);
module_exit(sfc_exit);
MODULE_LICENSE("GPL v2");
MODULE_VERSION(STUB_VERSION);
MODULE_DESCRIPTION("Stub of a network driver, for tests");
