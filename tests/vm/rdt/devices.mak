# The devices of the virtual machine (../machine.py), beside those that the board needs.
CONFIG_PCI_DEVICES=n
CONFIG_I440FX=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_9P=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_BLK=y
