// Package workloads requests from nrd what RmdWorkloads specify for this node, and reports the result in their status.
//
// All CRs are compared with nrd's list at each change and once a minute. A CR that went while this client was down is
// found by that: its workload has no CR any more. There are no finalizers, so that a node that is away keeps no CR.
package workloads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	// interval of comparisons without a change, and of tries again after a refusal.
	interval = time.Minute
	// failurePause after an error of nrd or of the API server, which a refusal is not.
	failurePause = 5 * time.Second
)

// Controller of one node.
type Controller struct {
	client *nrd.Client
	api    dynamic.Interface
	events *kube.Events
	node   string
	wake   kube.Signal

	workloads, self cache.SharedIndexInformer
	answers         map[string]answer // by the workload's id
	writes          map[string]write  // the last of each CR's status, by its key
	unshown         map[string]unshown
}

// answer of nrd to a request, while it had this capacity.
type answer struct {
	request  nrd.Request
	granted  nrd.Workload
	capacity int64
}

// New watches from Run on.
func New(client *nrd.Client, api dynamic.Interface, events *kube.Events, node string) *Controller {
	c := &Controller{client: client, api: api, events: events, node: node, wake: kube.NewSignal(), answers: map[string]answer{}, writes: map[string]write{},
		unshown: map[string]unshown{}}
	// No resync: the comparison each minute reads the informer's store.
	c.workloads = kube.NewInformer(api, kube.Selection{Resource: intel.Workloads, Labels: "!" + intel.AutomaticLabel})
	c.self = kube.NewInformer(api, kube.Selection{Resource: kube.Nodes, Name: node})
	return c
}

// Wake schedules a comparison, such as when nrd's capacity has changed. Never blocks.
func (c *Controller) Wake() { c.wake.Raise() }

// Run compares until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	if err := c.workloads.SetTransform(c.withoutOthers); err != nil {
		return err
	}
	for _, informer := range []cache.SharedIndexInformer{c.workloads, c.self} {
		if err := kube.WatchFor(ctx, informer, c.wake, counts); err != nil {
			return err
		}
	}
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, c.wake, pauses, "cannot compare RmdWorkloads with nrd", c.compare)
}

// counts leaves out statuses, of which each node writes its own, and heartbeats.
func counts(before, after any) bool {
	was, isObject := before.(*unstructured.Unstructured)
	is, areObjects := after.(*unstructured.Unstructured)
	return !isObject || !areObjects || was.GetGeneration() != is.GetGeneration() || !maps.Equal(was.GetLabels(), is.GetLabels())
}

// wanted is a CR that selects this node.
type wanted struct {
	object *unstructured.Unstructured
	spec   intel.WorkloadSpec
}

func (w wanted) id() string { return idOf(w.object) }

// idOf has the namespace, so that CRs of one name in two namespaces have a workload each.
func idOf(cr *unstructured.Unstructured) string {
	return nrd.CRPrefix + cr.GetNamespace() + "." + cr.GetName()
}

// compare makes nrd's workloads those of the CRs. Deletions come first: what they free may be what a new CR needs.
func (c *Controller) compare(ctx context.Context) error {
	all, stay, unread := c.wantedHere()
	found, err := c.client.Workloads(ctx)
	if err != nil {
		return err
	}
	node, err := c.client.Node(ctx)
	if err != nil {
		return err
	}
	failures := []error{unread}
	maps.DeleteFunc(c.answers, func(id string, _ answer) bool { return !stay[id] })
	byID := nrd.ByID(found)
	for _, workload := range found {
		if strings.HasPrefix(workload.ID, nrd.CRPrefix) && !stay[workload.ID] {
			slog.Info("deleting a workload without RmdWorkload", "workload", workload.ID)
			failures = append(failures, c.client.Delete(ctx, workload.ID))
		}
	}
	for _, each := range all {
		err := c.apply(ctx, each, node, byID[each.id()])
		failures = append(failures, err)
		if errors.Is(err, nrd.ErrUnreachable) { // each further one may wait as long for an nrd that hangs
			return errors.Join(failures...)
		}
	}
	failures = append(failures, c.clearOthers(ctx, stay))
	isGone := func(key string) bool {
		_, isThere, _ := c.workloads.GetStore().GetByKey(key)
		return !isThere
	}
	maps.DeleteFunc(c.writes, func(key string, _ write) bool { return isGone(key) })
	maps.DeleteFunc(c.unshown, func(key string, _ unshown) bool { return isGone(key) })
	return errors.Join(failures...)
}

// wantedHere lists the CRs for this node, oldest first: of two for the same CPUs the later one fails. The ids are of what
// stays at nrd: theirs, and those of CRs that cannot be read, of which the error tells.
func (c *Controller) wantedHere() ([]wanted, map[string]bool, error) {
	labels := map[string]string{}
	if self := kube.Only(c.self); self != nil {
		labels = self.GetLabels()
	}
	var all []wanted
	var failures []error
	stay := map[string]bool{}
	for _, each := range c.workloads.GetStore().List() {
		object := each.(*unstructured.Unstructured)
		spec, err := specOf(object)
		if err != nil {
			failures = append(failures, err)
			stay[idOf(object)] = true
		} else if selects(spec, c.node, labels) && object.GetDeletionTimestamp() == nil {
			all = append(all, wanted{object, spec})
			stay[idOf(object)] = true
		}
	}
	slices.SortFunc(all, func(a, b wanted) int {
		if order := a.object.GetCreationTimestamp().Compare(b.object.GetCreationTimestamp().Time); order != 0 {
			return order
		}
		return strings.Compare(a.id(), b.id())
	})
	return all, stay, errors.Join(failures...)
}

func specOf(object *unstructured.Unstructured) (intel.WorkloadSpec, error) {
	var spec intel.WorkloadSpec
	content, _, err := unstructured.NestedMap(object.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("RmdWorkload %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return spec, nil
}

// cpusOf are the CPUs of all caches, which "allCores" stands for.
func cpusOf(node nrd.Node) string {
	lists := make([]string, 0, len(node.Caches))
	for _, each := range node.Caches {
		lists = append(lists, each.CPUs)
	}
	return strings.Join(lists, ",")
}

// apply makes nrd have what one CR requests, and writes the status if that changes. found is what nrd has of it, with no id if
// that is nothing.
func (c *Controller) apply(ctx context.Context, each wanted, node nrd.Node, found nrd.Workload) error {
	request, err := requestOf(each.spec, cpusOf(node))
	var granted nrd.Workload
	if err == nil {
		request.Labels = map[string]string{"namespace": each.object.GetNamespace()}
		if granted, err = c.put(ctx, each.id(), answer{request, found, node.Capacity.Revision}); err != nil && !nrd.IsRefusal(err) {
			return err // the next comparison tells; grant and status of before stay as they are
		}
	}
	if err != nil && found.ID != "" {
		// What is there under this id is an earlier version of the CR, and no longer wanted.
		if dropped := c.client.Delete(ctx, each.id()); dropped != nil {
			return dropped
		}
	}
	return c.writeState(ctx, each, stateOf(granted, err))
}

// put requests a workload unless nrd has answered this before: each request is a line of nrd's audit, also one that changes
// nothing. What a policy gives may have changed since.
func (c *Controller) put(ctx context.Context, id string, expected answer) (nrd.Workload, error) {
	if expected.request.Policy == "" && reflect.DeepEqual(c.answers[id], expected) {
		return expected.granted, nil
	}
	delete(c.answers, id)
	granted, err := c.client.Put(ctx, id, expected.request)
	if err == nil {
		c.answers[id] = answer{expected.request, granted, expected.capacity}
	}
	return granted, err
}
