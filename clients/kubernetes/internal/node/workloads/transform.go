package workloads

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withoutOthers takes out of a CR what this node does not use: each node that the CR selects adds a state and an owner of
// fields, and a thousand of both are a megabyte on each of a thousand nodes. So is a list of their names in each of many CRs.
// Nothing is lost by it, because a status is applied with this node's key alone.
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
	c.withoutOtherNodes(cr)
	return cr, nil
}

// withoutOtherNodes leaves this node of spec.nodes, and nothing of a spec for others alone. What cannot be read stays, so that the
// comparison tells.
func (c *Controller) withoutOtherNodes(cr *unstructured.Unstructured) {
	spec, err := specOf(cr)
	switch {
	case err != nil:
	case len(spec.NodeSelector) > 0: // it has precedence, and the labels of this node may change
		unstructured.RemoveNestedField(cr.Object, "spec", "nodes")
	case slices.Contains(spec.Nodes, c.node):
		cr.Object["spec"].(map[string]any)["nodes"] = []any{c.node}
	default:
		unstructured.RemoveNestedField(cr.Object, "spec")
	}
}
