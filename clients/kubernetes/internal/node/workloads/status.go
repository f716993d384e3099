package workloads

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
)

// writeState applies this node's part of a status, unless it is there already.
func (c *Controller) writeState(ctx context.Context, each wanted, state intel.WorkloadState) error {
	content, err := contentOf(state)
	if err != nil {
		return err
	}
	found, _, err := unstructured.NestedMap(each.object.Object, "status", "workloadStates", c.node)
	if err == nil && reflect.DeepEqual(found, content) {
		return nil
	}
	if err := c.applyStatus(ctx, each.object, map[string]any{"workloadStates": map[string]any{c.node: content}}); err != nil {
		return err
	}
	c.tell(each.object, state)
	return nil
}

// tell writes an event about what has changed on this node.
func (c *Controller) tell(cr *unstructured.Unstructured, state intel.WorkloadState) {
	about := kube.Object{APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(),
		UID: string(cr.GetUID())}
	if state.ID == "" {
		c.events.Tell(about, kube.Warning, "Refused", "Grant", "node "+c.node+": "+state.Response)
		return
	}
	c.events.Tell(about, kube.Normal, "Granted", "Grant", fmt.Sprintf("node %s: class %s, CPUs %s", c.node, state.CosName, strings.Join(state.CoreIDs, ",")))
}

// clearOthers takes this node's part out of CRs that no longer select it: those whose ids do not stay.
func (c *Controller) clearOthers(ctx context.Context, stay map[string]bool) error {
	var failures []error
	for _, each := range c.workloads.GetStore().List() {
		object := each.(*unstructured.Unstructured)
		if _, has, _ := unstructured.NestedMap(object.Object, "status", "workloadStates", c.node); has && !stay[idOf(object)] {
			// A manager that applies nothing gives up what it owned.
			failures = append(failures, c.applyStatus(ctx, object, map[string]any{"workloadStates": map[string]any{}}))
		}
	}
	return errors.Join(failures...)
}

func (c *Controller) applyStatus(ctx context.Context, cr *unstructured.Unstructured, status map[string]any) error {
	err := applyStatus(ctx, c.api, c.node, cr, status)
	if _, isThere, _ := c.workloads.GetStore().Get(cr); !isThere {
		return nil // deleted meanwhile
	}
	return err
}

func applyStatus(ctx context.Context, api dynamic.Interface, node string, cr *unstructured.Unstructured, status map[string]any) error {
	// The uid makes it fail for another CR of this name; an apply would create neither.
	metadata := map[string]any{"namespace": cr.GetNamespace(), "name": cr.GetName(), "uid": string(cr.GetUID())}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": intel.Group + "/" + intel.Version, "kind": "RmdWorkload", "metadata": metadata, "status": status,
	}}
	_, err := api.Resource(intel.Workloads).Namespace(cr.GetNamespace()).ApplyStatus(ctx, cr.GetName(), object,
		metav1.ApplyOptions{FieldManager: kube.ManagerOf(node), Force: true})
	return err
}
