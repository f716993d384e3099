package workloads

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

func TestOfACROnlyWhatTheNodeUsesIsKept(t *testing.T) {
	c := &Controller{node: "node-a"}
	spec := map[string]any{"nodes": []any{"node-a", "node-b"}}
	mine, other := map[string]any{"response": "Success: 200"}, map[string]any{"response": "Fail: no"}
	for _, row := range []struct{ before, after any }{
		{map[string]any{"workloadStates": map[string]any{"node-a": mine, "node-b": other}}, map[string]any{"workloadStates": map[string]any{"node-a": mine}}},
		{map[string]any{"workloadStates": map[string]any{"node-b": other}}, nil},
		{nil, nil},
	} {
		cr := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		cr.SetName("one")
		cr.SetLabels(map[string]string{"rack": "x"})
		cr.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "nrd-node-node-b"}})
		cr.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
		if row.before != nil {
			cr.Object["status"] = row.before
		}
		wanted := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		wanted.SetName("one")
		wanted.SetLabels(map[string]string{"rack": "x"})
		if row.after != nil {
			wanted.Object["status"] = row.after
		}
		if kept, err := c.withoutOthers(cr); err != nil || !reflect.DeepEqual(kept, wanted) {
			t.Errorf("%v: %v, %v, want %v", row.before, kept, err, wanted)
		}
	}
	if gone, err := c.withoutOthers(cache.DeletedFinalStateUnknown{Key: "one"}); err != nil || gone.(cache.DeletedFinalStateUnknown).Key != "one" {
		t.Errorf("%v, %v", gone, err)
	}
}
