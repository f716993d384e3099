package workloads

import (
	"strings"
	"testing"

	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/nrd"
)

func TestTheNameIsThePodsAndNeverTooLong(t *testing.T) {
	container := containers.Container{Namespace: "default", Pod: "feed", PodUID: "f3059f18-5ac0-425f-904c-4ffad46597e9", Name: "main"}
	if name := nameOf(container); name != "feed-rmd-workload-main" {
		t.Error(name)
	}
	container.Pod = strings.Repeat("a", mostName)
	name := nameOf(container)
	if len(name) != mostName || !strings.HasSuffix(name, "-"+container.PodUID+"-rmd-workload-main") {
		t.Errorf("%d characters: %s", len(name), name)
	}
}

func TestAnObjectHasItsPodAsOwnerUnlessThatIsStatic(t *testing.T) {
	a := &Automatic{node: "node-a"}
	container := containers.Container{Namespace: "default", Pod: "feed", PodUID: "uid", Name: "main", Workload: "k8s.uid.main"}
	granted := nrd.Workload{ID: "k8s.uid.main", CPU: nrd.CPUGrants{{Pool: "fast", Exclusive: "4-5"}, {Pool: "common"}}}
	object, err := a.objectOf(container, granted)
	if err != nil {
		t.Fatal(err)
	}
	owners := object.GetOwnerReferences()
	if len(owners) != 1 || owners[0].UID != "uid" || owners[0].Kind != "Pod" {
		t.Errorf("%+v", owners)
	}
	spec := object.Object["spec"].(map[string]any)
	if cpus := spec["coreIds"].([]any); len(cpus) != 1 || cpus[0] != "4-5" {
		t.Errorf("%+v", spec)
	}
	container.IsStatic = true
	if object, err = a.objectOf(container, granted); err != nil || len(object.GetOwnerReferences()) != 0 {
		t.Errorf("%+v, %v", object, err)
	}
}
