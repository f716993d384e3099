package workloads

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"nrd.internal/kubernetes/api/intel"
)

// manager owns this node's key in the statuses, and no other: each node client has its own.
func (c *Controller) manager() string { return "nrd-node-" + c.node }

// writeState applies this node's part of a status, unless it says so already.
func (c *Controller) writeState(ctx context.Context, namespace, name string, state intel.WorkloadState) error {
	id := idPrefix + namespace + "." + name
	if last, known := c.written[id]; known && reflect.DeepEqual(last, state) {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&state)
	if err != nil {
		return err
	}
	err = c.applyStatus(ctx, namespace, name, map[string]any{"workloadStates": map[string]any{c.node: content}})
	if err == nil {
		c.written[id] = state
	}
	return err
}

// clearOthers takes this node's part out of CRs that no longer select it.
func (c *Controller) clearOthers(ctx context.Context, all []wanted) error {
	isWanted := map[string]bool{}
	for _, each := range all {
		isWanted[each.id()] = true
	}
	var failures []error
	for _, each := range c.workloads.GetStore().List() {
		object := each.(*unstructured.Unstructured)
		id := idPrefix + object.GetNamespace() + "." + object.GetName()
		_, has, _ := unstructured.NestedMap(object.Object, "status", "workloadStates", c.node)
		_, wrote := c.written[id]
		if isWanted[id] || (!has && !wrote) {
			continue
		}
		// A manager that applies nothing gives up what it owned.
		err := c.applyStatus(ctx, object.GetNamespace(), object.GetName(), map[string]any{})
		failures = append(failures, err)
		if err == nil {
			delete(c.written, id)
		}
	}
	for id := range c.written {
		if !isWanted[id] && !c.exists(id) {
			delete(c.written, id)
		}
	}
	return errors.Join(failures...)
}

func (c *Controller) exists(id string) bool {
	for _, each := range c.workloads.GetStore().List() {
		object := each.(*unstructured.Unstructured)
		if idPrefix+object.GetNamespace()+"."+object.GetName() == id {
			return true
		}
	}
	return false
}

func (c *Controller) applyStatus(ctx context.Context, namespace, name string, status map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": intel.Group + "/" + intel.Version, "kind": "RmdWorkload",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "status": status,
	}}
	_, err := c.api.Resource(intel.Workloads).Namespace(namespace).ApplyStatus(ctx, name, object,
		metav1.ApplyOptions{FieldManager: c.manager(), Force: true})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile; the watch tells
	}
	return err
}
