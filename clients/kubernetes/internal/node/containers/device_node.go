package containers

import (
	"fmt"
	"os"
	"syscall"

	"github.com/containerd/nri/pkg/api"
)

// characterDevice describes a device of the node for the container that gets it.
func characterDevice(path string) (*api.LinuxDevice, error) {
	var status syscall.Stat_t
	if err := syscall.Stat(path, &status); err != nil {
		return nil, fmt.Errorf("device %s: %w", path, err)
	}
	if status.Mode&syscall.S_IFMT != syscall.S_IFCHR {
		return nil, fmt.Errorf("%s is not a character device", path)
	}
	major, minor := deviceNumbers(status.Rdev)
	mode := os.FileMode(status.Mode & 0o777)
	return &api.LinuxDevice{Path: path, Type: "c", Major: major, Minor: minor, FileMode: api.FileMode(&mode)}, nil
}

// deviceNumbers splits a dev_t as glibc's gnu_dev_major and gnu_dev_minor do.
func deviceNumbers(device uint64) (major, minor int64) {
	major = int64(device>>8&0xfff | device>>32&^0xfff)
	minor = int64(device&0xff | device>>12&^0xff)
	return major, minor
}
