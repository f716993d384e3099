package workloads

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	if reflect.DeepEqual(c.partOf(each.object), content) {
		return nil
	}
	if reason := c.whyUnshown(each.object, content); reason != nil {
		return reason
	}
	if err := c.applyPart(ctx, each.object, content); apierrors.IsInvalid(err) {
		c.tellUnshown(each.object, content, err)
		return err
	} else if err != nil {
		return err
	}
	c.tell(each.object, state)
	return nil
}

// unshownPause is how long a status is not tried again while its CR stays as it is: hundreds of nodes too many would have the API
// server read a large object in each minute.
const unshownPause = time.Hour

// unshown is a part of a CR's status that the API server does not take, such as that of one node too many.
type unshown struct {
	write
	reason error
}

// whyUnshown is what the API server would say again, nil if that is not known.
func (c *Controller) whyUnshown(cr *unstructured.Unstructured, part map[string]any) error {
	last := c.unshown[keyOf(cr)]
	if last.version == cr.GetResourceVersion() && reflect.DeepEqual(last.part, part) && time.Since(last.at) < unshownPause {
		return last.reason
	}
	return nil
}

// tellUnshown tells once.
func (c *Controller) tellUnshown(cr *unstructured.Unstructured, part map[string]any, reason error) {
	former := c.unshown[keyOf(cr)].reason
	c.unshown[keyOf(cr)] = unshown{write{part, cr.GetResourceVersion(), time.Now()}, reason}
	if former == nil || former.Error() != reason.Error() {
		c.events.Tell(about(cr), kube.Warning, "NotShown", "Grant", "node "+c.node+": the status cannot have its state: "+reason.Error())
	}
}

// mostBehind is how far the informer is behind at most. Of an API server with a restored store versions begin again.
const mostBehind = 5 * time.Minute

// write of this node's part of a status, which made this version of the CR.
type write struct {
	part    map[string]any // nil: none
	version string
	at      time.Time
}

// partOf is this node's part of a status, nil if there is none. The informer shows a write a moment later, and much later while its
// connection is made again; without the write that it does not show yet each comparison meanwhile would write and tell again.
func (c *Controller) partOf(cr *unstructured.Unstructured) map[string]any {
	last := c.writes[keyOf(cr)]
	order, err := resourceversion.CompareResourceVersion(cr.GetResourceVersion(), last.version)
	if err == nil && order < 0 && time.Since(last.at) < mostBehind {
		return last.part
	}
	part, _, _ := unstructured.NestedMap(cr.Object, "status", "workloadStates", c.node)
	return part
}

// tell writes an event about what has changed on this node.
func (c *Controller) tell(cr *unstructured.Unstructured, state intel.WorkloadState) {
	if state.ID == "" {
		c.events.Tell(about(cr), kube.Warning, "Refused", "Grant", "node "+c.node+": "+state.Response)
		return
	}
	c.events.Tell(about(cr), kube.Normal, "Granted", "Grant", fmt.Sprintf("node %s: class %s, CPUs %s", c.node, state.CosName, strings.Join(state.CoreIDs, ",")))
}

func about(cr *unstructured.Unstructured) kube.Object {
	return kube.Object{APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(),
		UID: string(cr.GetUID())}
}

// clearOthers takes this node's part out of CRs that no longer select it: those whose ids do not stay.
func (c *Controller) clearOthers(ctx context.Context, stay map[string]bool) error {
	var failures []error
	for _, each := range c.workloads.GetStore().List() {
		if object := each.(*unstructured.Unstructured); !stay[idOf(object)] && c.partOf(object) != nil {
			failures = append(failures, c.applyPart(ctx, object, nil))
		}
	}
	return errors.Join(failures...)
}

// applyPart applies this node's part of a status; nil: none, as a manager that applies nothing gives up what it owned.
func (c *Controller) applyPart(ctx context.Context, cr *unstructured.Unstructured, part map[string]any) error {
	states := map[string]any{}
	if part != nil {
		states[c.node] = part
	}
	version, err := applyStatus(ctx, c.api, c.node, cr, map[string]any{"workloadStates": states})
	if _, isThere, _ := c.workloads.GetStore().Get(cr); !isThere {
		return nil // deleted meanwhile
	}
	if err == nil {
		c.writes[keyOf(cr)] = write{part, version, time.Now()}
	}
	return err
}

// applyStatus gives the version of the CR with it.
func applyStatus(ctx context.Context, api dynamic.Interface, node string, cr *unstructured.Unstructured, status map[string]any) (string, error) {
	// The uid makes it fail for another CR of this name; an apply would create neither.
	metadata := map[string]any{"namespace": cr.GetNamespace(), "name": cr.GetName(), "uid": string(cr.GetUID())}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": intel.Group + "/" + intel.Version, "kind": "RmdWorkload", "metadata": metadata, "status": status,
	}}
	applied, err := api.Resource(intel.Workloads).Namespace(cr.GetNamespace()).ApplyStatus(ctx, cr.GetName(), object,
		metav1.ApplyOptions{FieldManager: kube.ManagerOf(node), Force: true})
	if err != nil {
		return "", err
	}
	return applied.GetResourceVersion(), nil
}
