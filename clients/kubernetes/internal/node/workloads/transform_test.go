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
	spec := map[string]any{"nodes": []any{"node-a"}}
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

func TestOfASpecOnlyWhatTheNodeUsesIsKept(t *testing.T) {
	c := &Controller{node: "node-a"}
	selector := map[string]any{"rack": "x"}
	for _, row := range []struct {
		name        string
		spec, after any
	}{
		{"for this node and others", map[string]any{"policy": "gold", "nodes": []any{"node-b", "node-a"}}, map[string]any{"policy": "gold", "nodes": []any{"node-a"}}},
		{"for others", map[string]any{"policy": "gold", "nodes": []any{"node-b", "node-c"}}, nil},
		{"for none", map[string]any{"policy": "gold"}, nil},
		{"for a label", map[string]any{"nodeSelector": selector, "nodes": []any{"node-b"}}, map[string]any{"nodeSelector": selector}},
		{"that cannot be read", map[string]any{"nodes": "node-b"}, map[string]any{"nodes": "node-b"}},
	} {
		kept, err := c.withoutOthers(&unstructured.Unstructured{Object: map[string]any{"spec": row.spec}})
		if found := kept.(*unstructured.Unstructured).Object["spec"]; err != nil || !reflect.DeepEqual(found, row.after) {
			t.Errorf("%s: %v, %v, want %v", row.name, found, err, row.after)
		}
	}
}
