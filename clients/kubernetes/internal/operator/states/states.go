// Package states takes what nodes wrote into the status of RmdWorkloads out of it once the nodes are gone. In a cluster whose nodes
// come and go, the states of former ones would fill an object until no node can write its own.
package states

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
)

const (
	interval     = time.Hour
	failurePause = time.Minute
	// page of RmdWorkloads, each of which may have the states of 5000 nodes.
	page = 10
)

// Controller of the states.
type Controller struct {
	api   dynamic.Interface
	nodes func() ([]string, bool)
}

// New does nothing before Run. Nodes are those that have an RmdNodeState, in the order of their names, once they are known: it goes
// with its Node.
func New(api dynamic.Interface, nodes func() ([]string, bool)) *Controller {
	return &Controller{api: api, nodes: nodes}
}

// Run looks at all RmdWorkloads once an hour, until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, kube.NewSignal(), pauses, "cannot take the states of nodes that are gone out of RmdWorkloads", c.step)
}

func (c *Controller) step(ctx context.Context) error {
	options := metav1.ListOptions{Limit: page, LabelSelector: "!" + intel.AutomaticLabel}
	var failures []error
	for {
		list, err := c.api.Resource(intel.Workloads).List(ctx, options)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		nodes, areKnown := c.nodes()
		if !areKnown {
			return errors.New("the RmdNodeStates are not known yet")
		}
		for i := range list.Items {
			failures = append(failures, c.prune(ctx, &list.Items[i], nodes))
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return errors.Join(failures...)
		}
	}
}

// prune takes out the states of nodes that are gone. Where no node is there, their RmdNodeStates are only about to be made.
func (c *Controller) prune(ctx context.Context, cr *unstructured.Unstructured, nodes []string) error {
	found, _, _ := unstructured.NestedFieldNoCopy(cr.Object, "status", "workloadStates")
	states, _ := found.(map[string]any)
	gone := map[string]any{}
	for node := range states {
		if _, isThere := slices.BinarySearch(nodes, node); !isThere {
			gone[node] = nil // of a merge patch: it goes
		}
	}
	if len(gone) == 0 || len(nodes) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": cr.GetUID()}, "status": map[string]any{"workloadStates": gone}})
	if err != nil {
		return err
	}
	_, err = c.api.Resource(intel.Workloads).Namespace(cr.GetNamespace()).Patch(ctx, cr.GetName(), types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: "nrd-operator"}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another one of this name, or none
	}
	if err == nil {
		slog.Info("took the states of nodes that are gone out of an RmdWorkload", "namespace", cr.GetNamespace(), "name", cr.GetName(), "nodes", len(gone))
	}
	return err
}
