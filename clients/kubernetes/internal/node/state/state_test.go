package state

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/testservers"
)

func TestADeletedStateIsMadeAgainOnAQuietNode(t *testing.T) {
	const name = "node-quiet"
	api, _ := testservers.Client(t)
	node := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}}
	testservers.Create(t, api.Resource(kube.Nodes), node)
	m := New(nil, api, name)
	t.Cleanup(func() { testservers.Delete(t, m.states(), m.object().GetName()) })
	publish := func(workload string) {
		t.Helper()
		if err := m.publish(t.Context(), map[string]any{"workloads": map[string]any{workload: map[string]any{"ID": workload}}}); err != nil {
			t.Error(err)
		}
	}
	expect := func(moment string, workloads ...string) {
		t.Helper()
		found := testservers.Find(t, m.states(), m.object().GetName())
		if found == nil {
			if len(workloads) > 0 {
				t.Errorf("%s: no object, want %q", moment, workloads)
			}
			return
		}
		shown, _, _ := unstructured.NestedMap(found.Object, "status", "workloads")
		if names := slices.Sorted(maps.Keys(shown)); len(workloads) == 0 || !slices.Equal(names, workloads) {
			t.Errorf("%s: an object with %q, want %q", moment, names, workloads)
		}
	}
	publish("one")
	expect("at first", "one")
	publish("two")
	expect("after a change", "two")
	testservers.Delete(t, m.states(), m.object().GetName())
	publish("two")
	expect("without a change nothing is written")
	testservers.Delete(t, api.Resource(kube.Nodes), name)
	uid := testservers.Create(t, api.Resource(kube.Nodes), node).GetUID()
	m.writtenAt = time.Now().Add(-rewriteInterval)
	publish("two")
	expect("after a while", "two")
	if found := testservers.Find(t, m.states(), m.object().GetName()); found != nil && found.GetOwnerReferences()[0].UID != uid {
		t.Errorf("%+v, want the Node that there is now as owner", found.GetOwnerReferences())
	}
}
