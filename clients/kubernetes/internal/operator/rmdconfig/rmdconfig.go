// Package rmdconfig brings the node selector of the RmdConfig to the DaemonSet of the node role, and into its status the names of
// the nodes and whether the DaemonSet has the selector.
package rmdconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
)

const (
	configName = "rmdconfig" // the CRD allows no other
	daemonSet  = "nrd-node"
	// noted is the annotation of the DaemonSet with the labels that come from the RmdConfig, so that they can be
	// removed. The others belong to the client that deployed it.
	noted = "nrd.internal/rmd-node-selector"

	mostNodes = 5000 // the CRD's limit

	interval     = time.Minute
	failurePause = 5 * time.Second
)

var daemonSets = appsv1.SchemeGroupVersion.WithResource("daemonsets")

// Controller of the DaemonSet's selector.
type Controller struct {
	api       dynamic.Interface
	namespace string
	nodes     func() ([]string, bool)
	informer  cache.SharedIndexInformer
	changed   kube.Signal
}

// New watches from Run on. The DaemonSet is in namespace; nodes are those of the status, once they are known.
func New(api dynamic.Interface, namespace string, nodes func() ([]string, bool)) *Controller {
	return &Controller{api: api, namespace: namespace, nodes: nodes}
}

// Run compares at each change of the RmdConfig and once a minute, until the context ends. It can run again afterwards.
func (c *Controller) Run(ctx context.Context) error {
	c.changed = kube.NewSignal()
	c.informer = kube.NewInformer(c.api, kube.Selection{Resource: intel.Configs, Namespace: intel.NodeStatesNamespace, Name: configName})
	if err := kube.Watch(ctx, c.informer, c.changed); err != nil {
		return err
	}
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, c.changed, pauses, "cannot bring the RmdConfig's selector to the DaemonSet, or its status up to date",
		func(ctx context.Context) error {
			err := c.compare(ctx)
			return errors.Join(err, c.show(ctx, err))
		})
}

// compare changes the DaemonSet if its selector differs. Without an RmdConfig the labels of a former one go.
func (c *Controller) compare(ctx context.Context) error {
	wanted, err := c.wanted()
	if err != nil {
		return err
	}
	found, err := c.api.Resource(daemonSets).Namespace(c.namespace).Get(ctx, daemonSet, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := difference(found, wanted)
	if err != nil || patch == nil {
		return err
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.api.Resource(daemonSets).Namespace(c.namespace).Patch(ctx, daemonSet, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "nrd-operator"})
	if err == nil {
		slog.Info("changed the selector of the DaemonSet", "labels", wanted)
	}
	return err
}

func (c *Controller) wanted() (map[string]string, error) {
	object := kube.Only(c.informer)
	if object == nil {
		return nil, nil
	}
	var config struct {
		Spec intel.ConfigSpec `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &config); err != nil {
		return nil, fmt.Errorf("RmdConfig %s: %w", object.GetName(), err)
	}
	return config.Spec.NodeSelector, nil
}

// status of an RmdConfig.
type status struct {
	Nodes      []string           `json:"nodes"`
	Conditions []metav1.Condition `json:"conditions"`
}

// show writes the status if it differs. A problem is why the DaemonSet has not the selector.
func (c *Controller) show(ctx context.Context, problem error) error {
	object := kube.Only(c.informer)
	nodes, areKnown := c.nodes()
	if object == nil || !areKnown {
		return nil
	}
	var config struct {
		Status status `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &config); err != nil {
		return err
	}
	shown := config.Status
	wanted := status{nodes[:min(len(nodes), mostNodes)], slices.Clone(shown.Conditions)}
	meta.SetStatusCondition(&wanted.Conditions, applied(object.GetGeneration(), problem))
	if slices.Equal(shown.Nodes, wanted.Nodes) && slices.Equal(shown.Conditions, wanted.Conditions) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()}, "status": wanted})
	if err != nil {
		return err
	}
	_, err = c.api.Resource(intel.Configs).Namespace(intel.NodeStatesNamespace).Patch(ctx, configName, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: "nrd-operator"}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted or changed since it was seen; a change is another step
	}
	return err
}

// applied is the condition of an RmdConfig.
func applied(generation int64, problem error) metav1.Condition {
	condition := metav1.Condition{Type: "Applied", Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: generation}
	if problem != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Failed", problem.Error()
	}
	return condition
}

// difference is a merge patch, or nil. It fails if the DaemonSet has changed since it was read, by its resourceVersion.
func difference(found *unstructured.Unstructured, wanted map[string]string) (map[string]any, error) {
	selector, _, err := unstructured.NestedStringMap(found.Object, "spec", "template", "spec", "nodeSelector")
	if err != nil {
		return nil, err
	}
	before := map[string]string{}
	if text, isNoted := found.GetAnnotations()[noted]; isNoted && json.Unmarshal([]byte(text), &before) != nil {
		return nil, errors.New("annotation " + noted + " of the DaemonSet is not a JSON object of strings; delete it")
	}
	changes := map[string]any{}
	for key := range before {
		if _, stays := wanted[key]; !stays {
			if _, isThere := selector[key]; isThere {
				changes[key] = nil
			}
		}
	}
	ours := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		_, isOurs := before[key]
		has, isThere := selector[key]
		if isThere && !isOurs && has == wanted[key] {
			continue // it stays when the RmdConfig goes
		}
		if isThere && !isOurs {
			return nil, fmt.Errorf("label %s is %q in the RmdConfig and %q in the DaemonSet's own node selector; expected it in one of the two", key, wanted[key], has)
		}
		ours[key] = wanted[key]
		if has != wanted[key] || !isThere {
			changes[key] = wanted[key]
		}
	}
	if len(changes) == 0 && maps.Equal(before, ours) {
		return nil, nil
	}
	var note any // null: none
	if len(ours) > 0 {
		text, err := json.Marshal(ours)
		if err != nil {
			return nil, err
		}
		note = string(text)
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": found.GetResourceVersion(), "annotations": map[string]any{noted: note}},
		"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"nodeSelector": changes}}},
	}, nil
}
