package state

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nrd.internal/kubernetes/internal/apitest"
	"nrd.internal/kubernetes/internal/kube"
)

func TestADeletedStateIsMadeAgainOnAQuietNode(t *testing.T) {
	const name = "node-quiet"
	api, _ := apitest.Client(t)
	node := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}}
	apitest.Create(t, api.Resource(kube.Nodes), node)
	m := New(nil, api, name)
	t.Cleanup(func() { apitest.Delete(t, m.states(), m.object().GetName()) })
	publish := func(workload string) {
		t.Helper()
		if err := m.publish(t.Context(), map[string]any{"workloads": map[string]any{workload: map[string]any{"ID": workload}}}); err != nil {
			t.Error(err)
		}
	}
	shown := func() []string {
		t.Helper()
		found := apitest.Find(t, m.states(), m.object().GetName())
		if found == nil {
			return nil
		}
		workloads, _, _ := unstructured.NestedMap(found.Object, "status", "workloads")
		return slices.Sorted(maps.Keys(workloads))
	}
	expect := func(moment string, workloads ...string) {
		t.Helper()
		if found := shown(); !slices.Equal(found, workloads) {
			t.Errorf("%s: %q, want %q", moment, found, workloads)
		}
	}
	publish("one")
	expect("at first", "one")
	publish("two")
	expect("after a change", "two")
	apitest.Delete(t, m.states(), m.object().GetName())
	publish("two")
	expect("without a change nothing is asked")
	apitest.Delete(t, api.Resource(kube.Nodes), name)
	uid := apitest.Create(t, api.Resource(kube.Nodes), node).GetUID()
	m.writtenAt = time.Now().Add(-rewriteInterval)
	publish("two")
	expect("after a while", "two")
	owners := apitest.Find(t, m.states(), m.object().GetName()).GetOwnerReferences()
	if len(owners) != 1 || owners[0].UID != uid {
		t.Errorf("%+v, want the Node that there is now as owner", owners)
	}
}
