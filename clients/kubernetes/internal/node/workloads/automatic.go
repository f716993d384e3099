package workloads

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	mostName  = 253 // characters of an object's name
	mostLabel = 63
	// mostCreations of one object in creationPause, also those that the API server forbids: a quota or the end of a namespace may
	// last for days. The garbage collector deletes one whose pod the API server does not have, and nothing tells that from a
	// deletion by a user.
	mostCreations = 5
	creationPause = 10 * time.Minute
)

// Automatic shows what each container of this node was granted as an RmdWorkload, as the RMD operator did. Its objects
// are written and never read: what a container has follows from what kubelet gave it.
type Automatic struct {
	client     *nrd.Client
	api        dynamic.Interface
	node       string
	containers func() ([]containers.Container, error)
	pods       func(context.Context) (map[string]bool, error) // that kubelet has, "default/feed"
	creations  map[string]creations                           // by key of the object
	wake       kube.Signal
	shown      cache.SharedIndexInformer
}

// NewAutomatic watches from Run on; list tells the containers of the node that requested something, and pods the pods that
// kubelet has, by namespace and name.
func NewAutomatic(client *nrd.Client, api dynamic.Interface, node string, list func() ([]containers.Container, error),
	pods func(context.Context) (map[string]bool, error)) *Automatic {
	a := &Automatic{client: client, api: api, node: node, containers: list, pods: pods, creations: map[string]creations{}, wake: kube.NewSignal()}
	a.shown = kube.NewInformer(api, kube.Selection{Resource: intel.Workloads, Labels: intel.AutomaticLabel + "=" + node})
	return a
}

// Wake schedules a comparison. Never blocks.
func (a *Automatic) Wake() { a.wake.Raise() }

// Run compares until the context ends.
func (a *Automatic) Run(ctx context.Context) error {
	if len(a.node) > mostLabel {
		slog.Warn("no RmdWorkloads show the grants of containers: the name of the node is too long for a label", "most", mostLabel)
		<-ctx.Done()
		return ctx.Err()
	}
	if err := kube.Watch(ctx, a.shown, a.wake); err != nil {
		return err
	}
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, a.wake, pauses, "cannot show the grants of containers as RmdWorkloads", a.compare)
}

func (a *Automatic) compare(ctx context.Context) error {
	granted, err := a.client.Workloads(ctx)
	if err != nil {
		return err
	}
	wanted, err := a.objectsOf(ctx, granted)
	if err != nil {
		return err
	}
	return a.publish(ctx, wanted)
}

// publish makes the shown objects those that are wanted, by key.
func (a *Automatic) publish(ctx context.Context, wanted map[string]grantObject) error {
	var failures []error
	for _, each := range a.shown.GetStore().List() {
		object := each.(*unstructured.Unstructured)
		// One with another content is created again once its deletion is seen.
		if next, isWanted := wanted[keyOf(object)]; !isWanted || !hasContent(object, next.Unstructured) {
			failures = append(failures, a.drop(ctx, object))
		}
	}
	var missing []grantObject
	for _, key := range slices.Sorted(maps.Keys(wanted)) { // in the same order each time, so that the same failures are logged once
		object := wanted[key]
		if found, isThere, _ := a.shown.GetStore().GetByKey(key); isThere {
			failures = append(failures, a.showState(ctx, found.(*unstructured.Unstructured), object.Unstructured))
		} else {
			missing = append(missing, object)
		}
	}
	maps.DeleteFunc(a.creations, func(key string, _ creations) bool { return wanted[key].Unstructured == nil })
	return errors.Join(append(failures, a.create(ctx, missing))...)
}

func keyOf(object *unstructured.Unstructured) string {
	return object.GetNamespace() + "/" + object.GetName()
}

// hasContent reports whether a shown object is of the same container and says the same. The status is written separately.
func hasContent(shown, next *unstructured.Unstructured) bool {
	return reflect.DeepEqual(shown.Object["spec"], next.Object["spec"]) &&
		reflect.DeepEqual(shown.GetOwnerReferences(), next.GetOwnerReferences())
}

// grantObject is what is shown of a container.
type grantObject struct {
	*unstructured.Unstructured
	pod    string // "default/feed"
	podUID string
}

// objectsOf has an object, with its status, for each container that nrd has a workload of.
func (a *Automatic) objectsOf(ctx context.Context, granted []nrd.Workload) (map[string]grantObject, error) {
	list, err := a.containers()
	if err != nil {
		return nil, err
	}
	byID := nrd.ByID(granted)
	list = slices.DeleteFunc(list, func(each containers.Container) bool { return byID[each.Workload].ID == "" })
	self, err := a.ownerOfStatic(ctx, list)
	if err != nil {
		return nil, err
	}
	objects := map[string]grantObject{}
	for _, container := range list {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: container.Pod, UID: types.UID(container.PodUID)}
		if container.IsStatic {
			owner = self
		}
		object, err := a.objectOf(container, byID[container.Workload], owner)
		if err != nil {
			return nil, err
		}
		objects[keyOf(object)] = grantObject{object, container.Namespace + "/" + container.Pod, container.PodUID}
	}
	return objects, nil
}

// ownerOfStatic is the Node, if a container is of a static pod. The pod that the API server has of it has another uid, so that
// an object of the pod would be collected. A Node that was deleted and registered again has another uid, too.
func (a *Automatic) ownerOfStatic(ctx context.Context, list []containers.Container) (metav1.OwnerReference, error) {
	if !slices.ContainsFunc(list, func(each containers.Container) bool { return each.IsStatic }) {
		return metav1.OwnerReference{}, nil
	}
	node, err := a.api.Resource(kube.Nodes).Get(ctx, a.node, metav1.GetOptions{})
	if err != nil {
		return metav1.OwnerReference{}, err
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: a.node, UID: node.GetUID()}, nil
}

func (a *Automatic) objectOf(container containers.Container, granted nrd.Workload, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	state := stateOf(granted, nil)
	spec, err := contentOf(intel.WorkloadSpec{
		Container: container.Name, CoreIDs: exclusiveOf(granted), Policy: granted.Policy,
		RDT: state.RDT, Plugins: state.Plugins, Nodes: []string{a.node},
	})
	if err != nil {
		return nil, err
	}
	status, err := contentOf(state)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": intel.Group + "/" + intel.Version, "kind": "RmdWorkload", "spec": spec,
		"status": map[string]any{"workloadStates": map[string]any{a.node: status}},
	}}
	object.SetNamespace(container.Namespace)
	object.SetName(nameOf(container))
	object.SetLabels(map[string]string{intel.AutomaticLabel: a.node})
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
	return object, nil
}

// exclusiveOf has an item for each range: the API server limits the length of one, not their number.
func exclusiveOf(granted nrd.Workload) []string {
	var lists []string
	for _, grant := range granted.CPU {
		if grant.Exclusive != "" {
			lists = append(lists, strings.Split(grant.Exclusive, ",")...)
		}
	}
	return lists
}

func contentOf[T any](value T) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&value)
}

// nameOf is the operator's, for people who look for it. A longer one has the pod's uid.
func nameOf(container containers.Container) string {
	end := "-rmd-workload-" + container.Name
	if name := container.Pod + end; len(name) <= mostName {
		return name
	}
	end = "-" + container.PodUID + end
	return strings.TrimRight(container.Pod[:mostName-len(end)], "-.") + end // no "." before a "-"
}

// drop deletes the object that was seen, not a later one of this name.
func (a *Automatic) drop(ctx context.Context, object *unstructured.Unstructured) error {
	uid := object.GetUID()
	err := a.api.Resource(intel.Workloads).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(),
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// creations of the object of one pod, up to the last.
type creations struct {
	podUID string
	number int
	last   time.Time
}

// create makes the objects of containers whose pod kubelet has. The status follows once an object is seen.
func (a *Automatic) create(ctx context.Context, missing []grantObject) error {
	if len(missing) == 0 {
		return nil
	}
	pods, err := a.pods(ctx)
	if err != nil {
		return err
	}
	var failures []error
	for _, object := range missing {
		before := a.creations[keyOf(object.Unstructured)].of(object.podUID, time.Now())
		if !pods[object.pod] || before.number >= mostCreations {
			continue
		}
		_, err := a.api.Resource(intel.Workloads).Namespace(object.GetNamespace()).Create(ctx, object.Unstructured,
			metav1.CreateOptions{FieldManager: kube.ManagerOf(a.node)})
		if apierrors.IsAlreadyExists(err) {
			continue // made a moment ago, or by a user, who keeps it
		}
		if err == nil || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			a.creations[keyOf(object.Unstructured)] = creations{podUID: object.podUID, number: before.number + 1, last: time.Now()}
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// of forgets creations after a pause without one, and those for a former pod of the name.
func (c creations) of(podUID string, now time.Time) creations {
	if podUID != c.podUID || now.Sub(c.last) >= creationPause {
		return creations{}
	}
	return c
}

// showState writes the status of the shown object if it has changed. It never writes to an object that it has not made.
func (a *Automatic) showState(ctx context.Context, object, wanted *unstructured.Unstructured) error {
	if !hasContent(object, wanted) || reflect.DeepEqual(object.Object["status"], wanted.Object["status"]) {
		return nil
	}
	_, err := applyStatus(ctx, a.api, a.node, object, wanted.Object["status"].(map[string]any))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
