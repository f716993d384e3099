// SPDX-License-Identifier: GPL-2.0-only
/* Stands for hardware: a PCI bus of its own (domain 1) with a card of two functions, of Solarflare's vendor and of a
 * device that no real driver takes. They are there whatever drivers come and go, so their interfaces can be
 * distinguished by place. Nothing can be done with them but reading what they are (PCI Local Bus
 * Specification 3.0, 6.1). */
#include <linux/module.h>
#include <linux/pci.h>

#include "cards.h"

#define FUNCTIONS 2

static struct pci_sysdata sysdata = {.domain = 1, .node = NUMA_NO_NODE};
static struct pci_bus* bus;

static u32 word_of(int where) {
  switch (where & ~3) {
    case PCI_VENDOR_ID: return STUB_CARD_DEVICE << 16 | STUB_CARD_VENDOR;
    case PCI_CLASS_REVISION: return PCI_CLASS_NETWORK_ETHERNET << 16;
    case PCI_CACHE_LINE_SIZE: return 0x80 << 16; /* a card with several functions */
    default: return 0;                           /* no memory, no interrupt, no capability */
  }
}

static int cards_read(struct pci_bus* of, unsigned int devfn, int where, int size, u32* value) {
  *value = ~0U; /* no answer */
  if (PCI_SLOT(devfn) != 0 || PCI_FUNC(devfn) >= FUNCTIONS) return PCIBIOS_DEVICE_NOT_FOUND;
  *value = word_of(where) >> (8 * (where & 3));
  if (size < 4) *value &= (1U << (8 * size)) - 1;
  return PCIBIOS_SUCCESSFUL;
}

static int cards_write(struct pci_bus* of, unsigned int devfn, int where, int size, u32 value) {
  return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = {.read = cards_read, .write = cards_write};

static int __init cards_init(void) {
  LIST_HEAD(resources);
  bus = pci_scan_root_bus(NULL, 0, &operations, &sysdata, &resources);
  if (!bus) return -ENOMEM;
  pci_bus_add_devices(bus);
  return 0;
}

static void __exit cards_exit(void) {
  pci_lock_rescan_remove();
  pci_stop_root_bus(bus);
  pci_remove_root_bus(bus);
  pci_unlock_rescan_remove();
}

module_init(cards_init);
module_exit(cards_exit);
MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Stub of network cards, for tests");
