package pools

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nrd.internal/kubernetes/internal/annotations"
)

func state(name string, pools map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "intel.com/v1alpha1", "kind": "RmdNodeState",
		"status": map[string]any{"workloads": map[string]any{"7": map[string]any{"ID": "7"}}, "pools": pools}}}
	object.SetName(name)
	object.SetNamespace("default")
	return object
}

func TestThePoolsOfAllNodesAreJoined(t *testing.T) {
	pool := func(kind string, cpus int64, threads string) map[string]any {
		return map[string]any{"kind": kind, "cpus": cpus, "threads": threads}
	}
	var states []any
	for _, each := range []*unstructured.Unstructured{
		state("a", map[string]any{"fast": pool("exclusive", 4, "one"), "common": pool("shared", 2, "any")}),
		state("b", map[string]any{"cores": pool("exclusive", 8, "all"), "common": pool("shared", 6, "any")}),
		state("c", nil),
		state("d", map[string]any{"fast": "unreadable"}),
	} {
		small, err := poolsAlone(each)
		if err != nil {
			t.Fatal(err)
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(small.(*unstructured.Unstructured).Object, "status", "workloads"); found {
			t.Error("the workloads are kept")
		}
		states = append(states, small)
	}
	found := poolsOf(states)
	for name, wanted := range (annotations.Pools{
		"fast": {IsExclusive: true, CPUs: 4, CPUsOfDevice: 1}, "cores": {IsExclusive: true, CPUs: 8, CPUsOfDevice: 2}, "common": {CPUs: 6, CPUsOfDevice: 1},
	}) {
		if found[name] != wanted {
			t.Errorf("%s: %+v, want %+v", name, found[name], wanted)
		}
	}
	if len(found) != 3 {
		t.Errorf("%+v", found)
	}
}

func TestOnlyChangesOfPoolsCount(t *testing.T) {
	kept := func(cpus int64, workload, version string) any {
		t.Helper()
		object := state("a", map[string]any{"fast": map[string]any{"kind": "exclusive", "cpus": cpus}})
		object.SetResourceVersion(version)
		object.Object["status"].(map[string]any)["workloads"] = map[string]any{workload: map[string]any{"ID": workload}}
		small, err := poolsAlone(object)
		if err != nil {
			t.Fatal(err)
		}
		return small
	}
	if before := kept(4, "7", "1"); havePoolsChanged(before, kept(4, "8", "2")) || !havePoolsChanged(before, kept(5, "7", "2")) {
		t.Error("want a change of the pools to count, and of the workloads not")
	}
}
