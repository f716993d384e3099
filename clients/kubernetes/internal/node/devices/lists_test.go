package devices

import (
	"encoding/json"
	"strings"
	"testing"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/nrd"
)

// drawn shows ids, unhealthy ones in brackets: "0 1 (2)".
func drawn(list []*kubelet.Device) string {
	var texts []string
	for _, device := range list {
		text := device.ID
		if device.Health != kubelet.Healthy {
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func nodeOf(t *testing.T, text string) nrd.Node {
	t.Helper()
	var node nrd.Node
	if err := json.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	return node
}

func TestWaysThatCannotBeGrantedAreUnhealthyUnlessAContainerHasThem(t *testing.T) {
	for _, row := range []struct {
		name, node string
		inUse      map[string]bool
		list       string
	}{
		{"a whole reserve", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 5, "usable": 5}}}}}`, nil, "0 1 2 3 4"},
		{"others have two", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 5, "usable": 3}}}}}`, nil, "0 1 2 (3) (4)"},
		{"no class is left", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 5, "usable": 2}}}}}`,
			map[string]bool{"1": true, "4": true}, "(0) 1 (2) (3) 4"},
		{"a container and one more way", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 4, "usable": 3}}}}}`,
			map[string]bool{"2": true}, "0 1 2 (3)"},
		{"RmdWorkloads have two on one cache and one on another", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 5, "usable": 5}}}}, "caches": [
			{"workloads": [{"id": "cr.default.a", "pool": "guarantee", "ways": {"ways": 2}}, {"id": "cr.default.b", "pool": "shared", "ways": {"ways": 9}}]},
			{"workloads": [{"id": "cr.default.c", "pool": "guarantee", "ways": {"ways": 1}}, {"id": "k8s.uid.c", "pool": "guarantee", "ways": {"ways": 1}}]}]}`,
			map[string]bool{"4": true}, "0 1 (2) (3) 4"},
		{"a policy gave a container three ways for one device", `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 5, "usable": 5}}}}, "caches": [
			{"workloads": [{"id": "k8s.uid.c", "pool": "guarantee", "ways": {"ways": 3}}]}]}`, map[string]bool{"0": true}, "0 1 2 (3) (4)"},
		{"a policy gave ways to a container without devices", `{"layout": {"guarantee": {"ways": 5}}, "classes": {"total": 16, "used": 2}, "caches": [
			{"pools": {"guarantee": {"longest_run": 2}}, "workloads": [{"id": "k8s.uid.c", "pool": "guarantee", "ways": {"ways": 3}}]}]}`, nil, "0 1 (2) (3) (4)"},
		{"no cache allocation", `{"layout": null}`, nil, ""},
		{"without a reserve", `{"layout": {"guarantee": {"ways": 3}}, "classes": {"total": 16, "used": 2}, "caches": [
			{"pools": {"guarantee": {"longest_run": 3}}}, {"pools": {"guarantee": {"longest_run": 1}}}]}`, nil, "0 (1) (2)"},
	} {
		if list := drawn(WaysList(nodeOf(t, row.node), row.inUse, nil)); list != row.list {
			t.Errorf("%s: %s, want %s", row.name, list, row.list)
		}
	}
}

func TestAnExclusivePoolHasOneDeviceACoreWithItsNode(t *testing.T) {
	cpus := nrd.CPUs{
		Zones: []nrd.Zone{{Level: "node", ID: 1, CPUs: "4-7"}, {Level: "core", ID: 0, CPUs: "4-5"}, {Level: "core", ID: 0, CPUs: "6-7"}},
		CPUs:  []nrd.CPU{{CPU: 4, Use: "free"}, {CPU: 5, Use: "free"}, {CPU: 6, Use: "exclusive"}, {CPU: 7, Use: "idle_sibling"}},
	}
	for _, row := range []struct{ threads, list string }{{"one", "4 (6)"}, {"all", "4 (6)"}, {"any", "4 5 (6) (7)"}} {
		list, err := PoolList(nrd.Pool{Name: "fast", Kind: "exclusive", CPUs: "4-7", Threads: row.threads}, nrd.Reserve{}, cpus, nil, nil)
		if err != nil || drawn(list) != row.list || list[0].Topology.Nodes[0].ID != 1 {
			t.Errorf("%s: %s, %v, want %s", row.threads, drawn(list), err, row.list)
		}
	}
}

func TestWhatAContainerHadThatEndedIsHealthyAtOnce(t *testing.T) {
	node := nodeOf(t, `{"capacity": {"reserves": {"kubernetes": {"ways": {"reserved": 2, "usable": 2}}}}, "caches": [
		{"workloads": [{"id": "k8s.uid.a", "pool": "guarantee", "ways": {"ways": 1}}, {"id": "k8s.uid.b", "pool": "guarantee", "ways": {"ways": 1}}]}]}`)
	cpus := nrd.CPUs{CPUs: []nrd.CPU{{CPU: 0, Use: "exclusive", Workload: "k8s.uid.a"}, {CPU: 1, Use: "exclusive", Workload: "k8s.uid.b"},
		{CPU: 2, Use: "exclusive", Workload: "cr.default.a"}}}
	pool := nrd.Pool{Name: "fast", Kind: "exclusive", CPUs: "0-2", Threads: "any"}
	inUse := map[string]bool{"1": true} // of b
	for _, row := range []struct {
		name       string
		live       Live
		ways, cpus string
	}{
		{"before the runtime has listed them", nil, "(0) 1", "(0) 1 (2)"},
		{"both run", Live{"k8s.uid.a": true, "k8s.uid.b": true}, "(0) 1", "(0) 1 (2)"},
		{"a has ended, and nrd is yet to hear of it", Live{"k8s.uid.b": true}, "0 1", "0 1 (2)"},
	} {
		if list := drawn(WaysList(node, inUse, row.live)); list != row.ways {
			t.Errorf("%s: ways %s, want %s", row.name, list, row.ways)
		}
		list, err := PoolList(pool, nrd.Reserve{}, cpus, inUse, row.live)
		if err != nil || drawn(list) != row.cpus {
			t.Errorf("%s: CPUs %s, %v, want %s", row.name, drawn(list), err, row.cpus)
		}
	}
}

func TestASharedPoolHasAThousandDevicesACPU(t *testing.T) {
	list, err := PoolList(nrd.Pool{Name: "common", Kind: "shared", CPUs: "0-31"}, nrd.Reserve{}, nrd.CPUs{}, nil, nil)
	if err != nil || len(list) != 32000 {
		t.Errorf("%d, %v", len(list), err)
	}
	reserve := nrd.Reserve{Pools: map[string]nrd.ReservedPool{"common": {Kind: "shared", ReservedMilli: 2000}}}
	if list, _ = PoolList(nrd.Pool{Name: "common", Kind: "shared", CPUs: "0-31"}, reserve, nrd.CPUs{}, nil, nil); len(list) != 2000 {
		t.Errorf("%d of a reserve of 2000", len(list))
	}
	if list, _ = PoolList(nrd.Pool{Name: "other", Kind: "shared", CPUs: "0-31"}, reserve, nrd.CPUs{}, nil, nil); len(list) != 0 {
		t.Errorf("%d of a pool without reserve, want none", len(list))
	}
}
