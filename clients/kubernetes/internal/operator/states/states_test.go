package states

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/testservers"
)

func TestTheStatesOfNodesThatAreGoneGo(t *testing.T) {
	api, _ := testservers.Client(t)
	objects := api.Resource(intel.Workloads).Namespace("default")
	for i := range page + 2 {
		name := fmt.Sprintf("states-%d", i)
		testservers.Create(t, objects, map[string]any{"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"nodeSelector": map[string]any{"of": "none"}, "coreIds": []any{"4"}}})
		for _, node := range []string{"there", "gone", "gone-too"} {
			status := map[string]any{"workloadStates": map[string]any{node: map[string]any{"response": "Success: 200"}}}
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload",
				"metadata": map[string]any{"name": name}, "status": status}}
			if _, err := objects.ApplyStatus(t.Context(), name, object, metav1.ApplyOptions{FieldManager: kube.ManagerOf(node)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, row := range []struct {
		nodes    []string
		areKnown bool
		left     []string
	}{
		{nil, false, []string{"gone", "gone-too", "there"}},
		{nil, true, []string{"gone", "gone-too", "there"}},
		{[]string{"other", "there"}, true, []string{"there"}},
	} {
		err := New(api, func() ([]string, bool) { return row.nodes, row.areKnown }).step(t.Context())
		if (err == nil) != row.areKnown {
			t.Errorf("%v: %v", row.nodes, err)
		}
		for i := range page + 2 {
			found := testservers.Find(t, objects, fmt.Sprintf("states-%d", i))
			states, _, _ := unstructured.NestedMap(found.Object, "status", "workloadStates")
			managers := 0
			for _, each := range found.GetManagedFields() {
				if each.Subresource == "status" {
					managers++
				}
			}
			if left := slices.Sorted(maps.Keys(states)); !slices.Equal(left, row.left) || managers != len(row.left) {
				t.Errorf("%v: %v of %d managers, want %v", row.nodes, left, managers, row.left)
			}
		}
	}
}
