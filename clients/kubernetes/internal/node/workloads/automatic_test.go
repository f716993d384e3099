package workloads

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"nrd.internal/kubernetes/api/intel"
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

// automaticOf shows one container of pod "default/feed". Its informer sees no object, as after a deletion of each.
func automaticOf(t *testing.T, pods map[string]bool, failure error) (*Automatic, *fake.FakeDynamicClient, map[string]grantObject) {
	t.Helper()
	api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{intel.Workloads: "RmdWorkloadList"})
	container := containers.Container{Namespace: "default", Pod: "feed", PodUID: "uid", Name: "main", Workload: "k8s.uid.main"}
	a := NewAutomatic(nil, api, "node-a", func() []containers.Container { return []containers.Container{container} },
		func(context.Context) (map[string]bool, error) { return pods, failure })
	wanted, err := a.objectsOf([]nrd.Workload{{ID: "k8s.uid.main"}})
	if err != nil || len(wanted) != 1 {
		t.Fatalf("%v, %v", wanted, err)
	}
	return a, api, wanted
}

func creationsOf(api *fake.FakeDynamicClient) int {
	number := 0
	for _, action := range api.Actions() {
		if action.GetVerb() == "create" {
			number++
		}
	}
	return number
}

func TestAnObjectIsCreatedOnlyForAPodThatKubeletHas(t *testing.T) {
	for _, row := range []struct {
		name    string
		pods    map[string]bool
		failure error
		number  int
	}{
		{"there", map[string]bool{"default/feed": true}, nil, 1},
		{"deleted with force", map[string]bool{"other/feed": true}, nil, 0},
		{"unknown", nil, errors.New("kubelet is away"), 0},
	} {
		a, api, wanted := automaticOf(t, row.pods, row.failure)
		if err := a.publish(t.Context(), wanted); !errors.Is(err, row.failure) {
			t.Errorf("%s: %v", row.name, err)
		}
		if number := creationsOf(api); number != row.number {
			t.Errorf("%s: %d creations, want %d", row.name, number, row.number)
		}
	}
}

func TestAnObjectThatIsAlwaysCollectedIsCreatedAFewTimes(t *testing.T) {
	a, api, wanted := automaticOf(t, map[string]bool{"default/feed": true}, nil)
	collected := func(times int) {
		for range times {
			if err := a.publish(t.Context(), wanted); err != nil {
				t.Fatal(err)
			}
			_ = api.Tracker().Delete(intel.Workloads, "default", "feed-rmd-workload-main")
		}
	}
	collected(2 * mostCreations)
	if number := creationsOf(api); number != mostCreations {
		t.Errorf("%d creations, want %d", number, mostCreations)
	}
	for key, before := range a.creations {
		before.last = time.Now().Add(-creationPause)
		a.creations[key] = before
	}
	collected(1)
	if number := creationsOf(api); number != mostCreations+1 {
		t.Errorf("%d creations after the pause, want one more", number)
	}
	collected(2 * mostCreations)
	for key, object := range wanted {
		object.podUID = "successor"
		wanted[key] = object
	}
	before := creationsOf(api)
	collected(1)
	if number := creationsOf(api); number != before+1 {
		t.Errorf("%d creations for another pod of this name, want one", number-before)
	}
}
