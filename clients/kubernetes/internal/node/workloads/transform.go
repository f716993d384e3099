package workloads

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// withoutOthers takes out of a CR what this node does not use: each node that the CR selects adds a state and an owner of
// fields, and a thousand of both are a megabyte on each of a thousand nodes. Nothing is lost by it, because a status is
// applied with this node's key alone.
func (c *Controller) withoutOthers(object any) (any, error) {
	cr, isObject := object.(*unstructured.Unstructured)
	if !isObject {
		return object, nil // the last known state of one that went unnoticed, which has been here before
	}
	cr.SetManagedFields(nil)
	cr.SetAnnotations(nil) // "kubectl apply" keeps the whole object there
	state, has, err := unstructured.NestedFieldNoCopy(cr.Object, "status", "workloadStates", c.node)
	unstructured.RemoveNestedField(cr.Object, "status")
	if has && err == nil {
		cr.Object["status"] = map[string]any{"workloadStates": map[string]any{c.node: state}}
	}
	return cr, nil
}
