package containers

import (
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/nrd"
)

func TestAContainerGetsAllDevicesOfOnloadOrIsRefused(t *testing.T) {
	granted := nrd.Workload{ID: "k8s.1.app", Onload: &nrd.OnloadGrant{Devices: []string{"/dev/null"}}}
	change, err := adjustment(&api.Container{}, granted, false)
	if err != nil || len(change.GetLinux().GetDevices()) != 1 {
		t.Fatalf("%v, %v", change, err)
	}
	granted.Onload.Devices = append(granted.Onload.Devices, "/dev/absent")
	if _, err := adjustment(&api.Container{}, granted, false); err == nil || !strings.Contains(err.Error(), "/dev/absent") {
		t.Fatalf("expected the absent device, got %v", err)
	}
}
