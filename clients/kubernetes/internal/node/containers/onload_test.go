package containers

import (
	"testing"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/nrd"
)

func TestAContainerGetsTheDevicesOfOnloadOrIsRefused(t *testing.T) {
	granted := nrd.Workload{ID: "k8s.1.app", Onload: &nrd.OnloadGrant{
		DeviceNodes: []nrd.DeviceNode{{Path: "/dev/onload", Type: "c", Major: 243, Minor: 1, Mode: 0o666}},
	}}
	change, err := adjustment(&api.Container{}, granted, false)
	if err != nil || len(change.GetLinux().GetDevices()) != 1 {
		t.Fatalf("%v, %v", change, err)
	}
	device := change.GetLinux().GetDevices()[0]
	if device.Path != "/dev/onload" || device.Type != "c" || device.Major != 243 || device.Minor != 1 || device.FileMode.GetValue() != 0o666 {
		t.Errorf("%v", device)
	}
	granted.Onload.DeviceNodes = nil
	if _, err := adjustment(&api.Container{}, granted, false); err == nil {
		t.Error("a container without devices was accepted")
	}
}
