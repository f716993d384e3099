package workloads

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/nrd"
	"nrd.internal/kubernetes/internal/testservers"
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
	container.Pod = strings.Repeat("a.", mostName/2) + "a"
	if name := nameOf(container); len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Errorf("%s: %v", name, validation.IsDNS1123Subdomain(name))
	}
}

func TestAnObjectHasItsPodAsOwner(t *testing.T) {
	container := containers.Container{Namespace: "default", Pod: "feed", PodUID: "uid", Name: "main", Workload: "k8s.uid.main"}
	a := &Automatic{node: "node-a", containers: func() ([]containers.Container, error) { return []containers.Container{container}, nil }}
	wanted, err := a.objectsOf(t.Context(), []nrd.Workload{
		{ID: "k8s.uid.main", CPU: nrd.OneOrMore[nrd.CPUGrant]{{Pool: "fast", Exclusive: "2,4-5"}, {Pool: "common"}}}})
	if err != nil || len(wanted) != 1 {
		t.Fatalf("%v, %v", wanted, err)
	}
	object := wanted["default/feed-rmd-workload-main"]
	if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != "uid" || owners[0].Kind != "Pod" {
		t.Errorf("%+v", owners)
	}
	spec := object.Object["spec"].(map[string]any)
	if !reflect.DeepEqual(spec["coreIds"], []any{"2", "4-5"}) {
		t.Errorf("%+v", spec)
	}
}

func TestTheObjectOfAStaticPodHasTheRegisteredNodeAsOwner(t *testing.T) {
	a, first := automaticOf(t, nil, nil)
	nodes := a.api.Resource(kube.Nodes)
	before := testservers.Find(t, nodes, a.node).GetUID()
	testservers.Delete(t, nodes, a.node)
	granted := []nrd.Workload{{ID: "k8s.uid.main"}}
	if wanted, err := a.objectsOf(t.Context(), granted); err == nil {
		t.Errorf("%+v, want an error without a Node", wanted)
	}
	after := createNode(t, a.api).GetUID()
	second, err := a.objectsOf(t.Context(), granted)
	if err != nil || after == before {
		t.Fatal(err)
	}
	for uid, wanted := range map[types.UID]map[string]grantObject{before: first, after: second} {
		owners := wanted["default/shown-rmd-workload-main"].GetOwnerReferences()
		if len(owners) != 1 || owners[0].UID != uid || owners[0].Kind != "Node" || owners[0].Name != a.node {
			t.Errorf("%+v, want the Node with uid %s", owners, uid)
		}
	}
}

func createNode(t *testing.T, api dynamic.Interface) *unstructured.Unstructured {
	t.Helper()
	return testservers.Create(t, api.Resource(kube.Nodes), map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "node-automatic"}})
}

// automaticOf shows one container, of a static pod, so that its object is collected with its Node alone. Its informer sees no
// object, as after a deletion of each.
func automaticOf(t *testing.T, pods map[string]bool, failure error) (*Automatic, map[string]grantObject) {
	t.Helper()
	api, _ := testservers.Client(t)
	container := containers.Container{Namespace: "default", Pod: "shown", PodUID: "uid", Name: "main", Workload: "k8s.uid.main", IsStatic: true}
	if testservers.Find(t, api.Resource(kube.Nodes), "node-automatic") == nil {
		createNode(t, api)
	}
	a := NewAutomatic(nil, api, "node-automatic", func() ([]containers.Container, error) { return []containers.Container{container}, nil },
		func(context.Context) (map[string]bool, error) { return pods, failure })
	wanted, err := a.objectsOf(t.Context(), []nrd.Workload{{ID: "k8s.uid.main"}})
	if err != nil || len(wanted) != 1 {
		t.Fatalf("%v, %v", wanted, err)
	}
	return a, wanted
}

// collect deletes the object of automaticOf, and reports whether it was there.
func collect(t *testing.T, a *Automatic) bool {
	t.Helper()
	return testservers.Delete(t, a.api.Resource(intel.Workloads).Namespace("default"), "shown-rmd-workload-main")
}

func TestAnObjectIsCreatedOnlyForAPodThatKubeletHas(t *testing.T) {
	for _, row := range []struct {
		name      string
		pods      map[string]bool
		failure   error
		isCreated bool
	}{
		{"there", map[string]bool{"default/shown": true}, nil, true},
		{"deleted with force", map[string]bool{"other/shown": true}, nil, false},
		{"unknown", nil, errors.New("kubelet is away"), false},
	} {
		a, wanted := automaticOf(t, row.pods, row.failure)
		if err := a.publish(t.Context(), wanted); !errors.Is(err, row.failure) {
			t.Errorf("%s: %v", row.name, err)
		}
		if isCreated := collect(t, a); isCreated != row.isCreated {
			t.Errorf("%s: created %v, want %v", row.name, isCreated, row.isCreated)
		}
	}
}

func TestEachRatioThatAnAnnotationCanHaveIsShown(t *testing.T) {
	a, _ := automaticOf(t, map[string]bool{"default/shown": true}, nil)
	for _, text := range []string{"3", "1.3333333333333333", "0." + strings.Repeat("0", 44) + "12345678901234567"} {
		found, err := annotations.ReadRMD("main", map[string]string{"main_pstate_ratio": text})
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := a.objectsOf(t.Context(), []nrd.Workload{{ID: "k8s.uid.main", Plugins: &nrd.Plugins{PState: &nrd.PState{Ratio: found.Ratio}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.publish(t.Context(), wanted); err != nil || !collect(t, a) {
			t.Errorf("ratio %s: %v", text, err)
		}
	}
}

func TestAnObjectThatIsAlwaysCollectedIsCreatedAFewTimes(t *testing.T) {
	a, wanted := automaticOf(t, map[string]bool{"default/shown": true}, nil)
	expect := func(moment string, times, want int) {
		t.Helper()
		creations := 0
		for range times {
			if err := a.publish(t.Context(), wanted); err != nil {
				t.Fatal(err)
			}
			if collect(t, a) {
				creations++
			}
		}
		if creations != want {
			t.Errorf("%s: %d creations, want %d", moment, creations, want)
		}
	}
	expect("at first", 2*mostCreations, mostCreations)
	for key, before := range a.creations {
		before.last = time.Now().Add(-creationPause)
		a.creations[key] = before
	}
	expect("after the pause", 2*mostCreations, mostCreations)
	for key, object := range wanted {
		object.podUID = "successor"
		wanted[key] = object
	}
	expect("for another pod of this name", 1, 1)
}

func TestAnObjectThatIsForbiddenIsTriedAFewTimes(t *testing.T) {
	for status, want := range map[int]int{http.StatusForbidden: mostCreations, http.StatusInternalServerError: 2 * mostCreations} {
		tries := 0
		server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
			tries++
			answer.WriteHeader(status)
		}))
		api, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		a := NewAutomatic(nil, api, "node-a", func() ([]containers.Container, error) {
			return []containers.Container{{Namespace: "default", Pod: "shown", PodUID: "uid", Name: "main", Workload: "k8s.uid.main"}}, nil
		}, func(context.Context) (map[string]bool, error) { return map[string]bool{"default/shown": true}, nil })
		wanted, err := a.objectsOf(t.Context(), []nrd.Workload{{ID: "k8s.uid.main"}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 * mostCreations {
			if err := a.publish(t.Context(), wanted); (err != nil) != (i < want) {
				t.Errorf("%d: %v after %d tries", status, err, tries)
			}
		}
		if tries != want {
			t.Errorf("%d: %d tries, want %d", status, tries, want)
		}
		server.Close()
	}
}
