package containers

import (
	"testing"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

func TestTheCgroupOfAContainerIsThatOfItsDriver(t *testing.T) {
	for _, row := range []struct{ specified, path string }{
		{"/kubepods/besteffort/pod1/abc", "/kubepods/besteffort/pod1/abc"},
		{"kubepods-besteffort-pod1_2.slice:cri-containerd:abc",
			"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice/cri-containerd-abc.scope"},
		{"kubepods.slice:crio:abc", "/kubepods.slice/crio-abc.scope"},
	} {
		if path, err := cgroupPath(row.specified); err != nil || path != row.path {
			t.Errorf("%s: %s, %v, want %s", row.specified, path, err, row.path)
		}
	}
	for _, specified := range []string{"", "kubepods", "a:b", ":x:y", "kubepods--pod.slice:c:d", "no-slice:c:d", "a/b.slice:c:d"} {
		if path, err := cgroupPath(specified); err == nil {
			t.Errorf("%q: %s, want an error", specified, path)
		}
	}
}

func TestDevicesOfAllResourcesAreOneRequest(t *testing.T) {
	pools := map[string]pool{"fast": {Pool: nrd.Pool{Name: "fast", Kind: "exclusive"}}, "common": {Pool: nrd.Pool{Name: "common", Kind: "shared"}}}
	given := asked{identity: identity{podUID: "uid", namespace: "default", pod: "pod", container: "c"}, cgroup: "/x", devices: map[string][]string{
		devices.WaysName: {"0", "3"}, devices.OnloadName: {"7"}, "nokia.k8s.io/fast": {"5", "4"}, "nokia.k8s.io/common": {"1", "2", "9"}, "other.io/gpu": {"0"},
	}}
	request, err := given.request(pools, "nokia.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	if request.RDT.Cache == nil || *request.RDT.Cache != (nrd.Cache{Max: 2, Min: 2}) || request.Onload == nil {
		t.Errorf("%+v", request)
	}
	wanted := []nrd.CPURequest{{Pool: "common", RequestMilli: 3, Enforce: "runtime"}, {Pool: "fast", CPUs: "4-5"}}
	if len(request.CPU) != 2 || request.CPU[0] != wanted[0] || request.CPU[1] != wanted[1] {
		t.Errorf("%+v, want %+v", request.CPU, wanted)
	}
	cores := devices.CoresOf(nrd.CPUs{Zones: []nrd.Zone{{Level: "core", CPUs: "4-5"}, {Level: "core", CPUs: "6-7"}, {Level: "node", CPUs: "0-7"}}})
	pools["fast"] = pool{Pool: nrd.Pool{Name: "fast", Kind: "exclusive", Threads: "all"}, cores: cores}
	given.devices = map[string][]string{"nokia.k8s.io/fast": {"6"}}
	if request, err := given.request(pools, "nokia.k8s.io"); err != nil || request.CPU[0].CPUs != "6-7" {
		t.Errorf("%+v, %v, want the whole core 6-7", request.CPU, err)
	}
	given.devices = map[string][]string{"nokia.k8s.io/gone": {"1"}}
	if _, err := given.request(pools, "nokia.k8s.io"); err == nil {
		t.Error("a pool that is gone: want an error")
	}
}

func TestBandwidthWithoutWaysReachesNRD(t *testing.T) {
	pools := map[string]pool{"common": {Pool: nrd.Pool{Name: "common", Kind: "shared"}}}
	given := asked{cgroup: "/x", devices: map[string][]string{"nokia.k8s.io/common": {"1"}}, wanted: annotations.RMD{MBA: nrd.MBA{Percentage: 50}}}
	request, err := given.request(pools, "nokia.k8s.io")
	if err != nil || request.RDT == nil || request.RDT.Cache != nil || request.RDT.MBA == nil || request.RDT.MBA.Percentage != 50 {
		t.Errorf("%+v, %v, want the bandwidth alone, which nrd refuses", request.RDT, err)
	}
	given.wanted = annotations.RMD{}
	if request, err = given.request(pools, "nokia.k8s.io"); err != nil || request.RDT != nil {
		t.Errorf("%+v, %v, want nothing of RDT", request.RDT, err)
	}
}

func TestOurLibraryIsPutInFrontOfTheContainers(t *testing.T) {
	for _, row := range []struct{ theirs, all string }{
		{"", "libonload.so"},
		{"libother.so", "libonload.so:libother.so"},
		{"liba.so libonload.so:libb.so", "libonload.so:liba.so:libb.so"},
	} {
		if all := preload("libonload.so", row.theirs); all != row.all {
			t.Errorf("%q: %q, want %q", row.theirs, all, row.all)
		}
	}
}
