package containers

import (
	"maps"
	"testing"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/nrd"
)

func TestVariablesOfPoolsAreTheNodesWhateverTheAuthorSet(t *testing.T) {
	container := &api.Container{Env: []string{"EXCLUSIVE_CPUS=0-63", "NRD_CPUS=", "SHARED_CPUS=7", "LANG=C"}}
	granted := nrd.Workload{ID: "k8s.1.app", CPU: nrd.OneOrMore[nrd.CPUGrant]{{Pool: "common", CPUs: "2-3", Shared: "2-3"}}}
	for _, row := range []struct {
		asksForPools bool
		variables    map[string]string
	}{
		{true, map[string]string{"EXCLUSIVE_CPUS": "", "SHARED_CPUS": "2,3", "NRD_CPUS_SHARED": "2-3", "CPU_POOLS": "shared",
			"NRD_POOLS": "common=2-3", "NRD_WORKLOAD": "k8s.1.app"}},
		{false, map[string]string{"NRD_WORKLOAD": "k8s.1.app"}},
	} {
		change, err := adjustment(container, granted, row.asksForPools)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, each := range change.GetEnv() {
			found[each.Key] = each.Value
		}
		if !maps.Equal(found, row.variables) {
			t.Errorf("asks for pools: %v: %q, want %q", row.asksForPools, found, row.variables)
		}
	}
}

func TestTheMemoryThatKubeletChoseStays(t *testing.T) {
	granted := nrd.Workload{ID: "k8s.1.app", CPU: nrd.OneOrMore[nrd.CPUGrant]{{Pool: "fast", CPUs: "4", Exclusive: "4", Mems: "1"}}}
	for chosen, want := range map[string]string{"": "1", "0": ""} { // of its memory manager; an empty one changes nothing
		container := &api.Container{Linux: &api.LinuxContainer{Resources: &api.LinuxResources{Cpu: &api.LinuxCPU{Mems: chosen}}}}
		change, err := adjustment(container, granted, true)
		if cpu := change.GetLinux().GetResources().GetCpu(); err != nil || cpu.GetMems() != want || cpu.GetCpus() != "4" {
			t.Errorf("kubelet chose %q: %v, %v, want %q", chosen, cpu, err, want)
		}
	}
}
