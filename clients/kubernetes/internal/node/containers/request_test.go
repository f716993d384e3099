package containers

import (
	"strings"
	"testing"

	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

func TestAWishIsReadByTheContainerWithThisWholeNameOnly(t *testing.T) {
	annotations := map[string]string{"a_policy": "gold", "ab_policy": "silver", "ab_cache_min": "1", "a_pstate_ratio": "3.0",
		"a_pstate_monitoring": "on", "ab_mba_percentage": "50", "ab_mba_mbps": "1000"}
	a, err := wishesOf("a", annotations)
	if err != nil || a.Policy != "gold" || a.CacheMin != nil || a.Ratio != 3 || a.Monitoring != "on" {
		t.Errorf("a: %+v, %v", a, err)
	}
	ab, err := wishesOf("ab", annotations)
	if err != nil || ab.Policy != "silver" || *ab.CacheMin != 1 || ab.MBA != (nrd.MBA{Percentage: 50, Mbps: 1000}) {
		t.Errorf("ab: %+v, %v", ab, err)
	}
	if c, err := wishesOf("b", annotations); err != nil || c != (Wishes{}) {
		t.Errorf("b: %+v, %v", c, err)
	}
}

func TestAWishThatCannotBeReadIsRefusedByName(t *testing.T) {
	for _, row := range []struct{ key, text, part string }{
		{"c_cache_min", "1.5", "not a whole number"},
		{"c_cache_min", "-1", "not a whole number"},
		{"c_cache_min", "4294967296", "not a whole number"},
		{"c_pstate_ratio", "0", "not a positive number"},
		{"c_pstate_ratio", "NaN", "not a positive number"},
		{"c_pstate_ratio", "Inf", "not a positive number"},
		{"c_pstate_monitoring", "yes", "neither on nor off"},
		{"c_policy", strings.Repeat("x", 65), "longer than 64"},
	} {
		_, err := wishesOf("c", map[string]string{row.key: row.text})
		if err == nil || !strings.Contains(err.Error(), row.part) || !strings.Contains(err.Error(), row.key) {
			t.Errorf("%s=%s: %v, want %q", row.key, row.text, err, row.part)
		}
	}
}

func FuzzWishes(f *testing.F) {
	f.Add("1.5")
	f.Add("on")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, suffix := range []string{"_policy", "_cache_min", "_pstate_ratio", "_pstate_monitoring", "_mba_percentage", "_mba_mbps"} {
			_, _ = wishesOf("c", map[string]string{"c" + suffix: text})
		}
	})
}

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
	given := asked{identity: identity{"uid", "default", "pod", "c"}, cgroup: "/x", devices: map[string][]string{
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
	cores := coresOf(nrd.CPUs{Zones: []nrd.Zone{{Level: "core", CPUs: "4-5"}, {Level: "core", CPUs: "6-7"}, {Level: "node", CPUs: "0-7"}}})
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
