// Package state mirrors nrd's workloads in this node's RmdNodeState, with the texts of the RMD operator.
package state

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/cpulist"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	interval     = time.Minute
	failurePause = 5 * time.Second
	// rewriteInterval of a status that has not changed, in case the object was deleted.
	rewriteInterval = 5 * time.Minute
	// mostShown bounds the object, which etcd limits to 1.5 MB; a workload has about 300 bytes.
	mostShown = 2000
	mostPools = 64 // the CRD's limit
)

// Mirror of one node.
type Mirror struct {
	client    *nrd.Client
	api       dynamic.Interface
	node      string
	wake      kube.Signal
	written   map[string]any // nil: nothing by this process
	writtenAt time.Time
}

// New writes nothing before Run.
func New(client *nrd.Client, api dynamic.Interface, node string) *Mirror {
	return &Mirror{client: client, api: api, node: node, wake: kube.NewSignal()}
}

// Wake schedules a comparison, such as when workloads or pools have changed. Never blocks.
func (m *Mirror) Wake() { m.wake.Raise() }

// Run writes each change until the context ends.
func (m *Mirror) Run(ctx context.Context) error {
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, m.wake, pauses, "cannot mirror nrd's workloads", m.step)
}

func (m *Mirror) step(ctx context.Context) error {
	list, err := m.client.Workloads(ctx)
	if err != nil {
		return err
	}
	return m.write(ctx, list)
}

func (m *Mirror) write(ctx context.Context, list []nrd.Workload) error {
	shown := map[string]any{}
	for _, workload := range list[:min(len(list), mostShown)] {
		shown[keyOf(workload)] = textsOf(workload)
	}
	pools, err := m.pools(ctx)
	if err != nil {
		return err
	}
	return m.publish(ctx, map[string]any{"workloads": shown, "pools": pools})
}

// publish writes a status that is new or was written long ago. The object is made at first, and when it is gone.
func (m *Mirror) publish(ctx context.Context, status map[string]any) error {
	if m.written != nil && reflect.DeepEqual(m.written, status) && time.Since(m.writtenAt) < rewriteInterval {
		return nil
	}
	isThere := m.written != nil
	if isThere {
		err := m.applyStatus(ctx, status)
		isThere = !apierrors.IsNotFound(err)
		if isThere && err != nil {
			return err
		}
	}
	if !isThere {
		if err := m.make(ctx); err != nil {
			return err
		}
		if err := m.applyStatus(ctx, status); err != nil {
			return err
		}
	}
	m.written, m.writtenAt = status, time.Now()
	return nil
}

// pools of CPUs are what the operator's webhook knows of them.
func (m *Mirror) pools(ctx context.Context) (map[string]any, error) {
	shown := map[string]any{}
	list, err := m.client.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, each := range list[:min(len(list), mostPools)] {
		cpus, err := cpulist.Parse(each.CPUs)
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", each.Name, err)
		}
		shown[each.Name] = map[string]any{"kind": each.Kind, "cpus": int64(len(cpus)), "threads": each.Threads}
	}
	return shown, nil
}

// make makes the object, which belongs to the Node and goes with it. A Node that was deleted and registered again has
// another uid.
func (m *Mirror) make(ctx context.Context) error {
	node, err := m.api.Resource(kube.Nodes).Get(ctx, m.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object := m.object()
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: m.node, UID: node.GetUID()}})
	object.Object["spec"] = map[string]any{"node": m.node, "nodeUid": string(node.GetUID())}
	_, err = m.states().Apply(ctx, object.GetName(), object, m.options())
	return err
}

// applyStatus does not make the object.
func (m *Mirror) applyStatus(ctx context.Context, status map[string]any) error {
	object := m.object()
	object.Object["status"] = status
	_, err := m.states().ApplyStatus(ctx, object.GetName(), object, m.options())
	return err
}

func (m *Mirror) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": intel.Group + "/" + intel.Version, "kind": "RmdNodeState"}}
	object.SetNamespace(intel.NodeStatesNamespace)
	object.SetName(intel.NodeStatePrefix + m.node)
	return object
}

func (m *Mirror) states() dynamic.ResourceInterface {
	return m.api.Resource(intel.NodeStates).Namespace(intel.NodeStatesNamespace)
}

func (m *Mirror) options() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: kube.ManagerOf(m.node), Force: true}
}

// keyOf is the uuid, as the operator showed it. A workload without one has its id: under "" only one would be seen.
func keyOf(workload nrd.Workload) string {
	if workload.UUID != "" {
		return workload.UUID
	}
	return workload.ID
}

// textsOf leaves out what is absent, as the operator did.
func textsOf(workload nrd.Workload) map[string]any {
	texts := map[string]any{}
	add := func(name, value string) {
		if value != "" {
			texts[name] = value
		}
	}
	add("ID", workload.ID)
	add("Core IDs", strings.Join(workload.CoreIDs, ","))
	add("Status", workload.Status)
	add("Cos Name", workload.ClosName)
	add("Origin", workload.Origin)
	add("Policy", workload.Policy)
	if cache := workload.RDT.Cache; cache != nil {
		add("Cache Max", strconv.FormatInt(cache.Max, 10))
		add("Cache Min", strconv.FormatInt(cache.Min, 10))
	}
	if mba := workload.RDT.MBA; mba != nil {
		add("MBA Percentage", nonZero(mba.Percentage))
		add("MBA Mbps", nonZero(mba.Mbps))
	}
	if plugins := workload.Plugins; plugins != nil && plugins.PState != nil {
		if plugins.PState.Ratio != 0 {
			add("P-State Ratio", fmt.Sprintf("%f", plugins.PState.Ratio))
		}
		add("P-State Monitoring", plugins.PState.Monitoring)
	}
	return texts
}

func nonZero(value int64) string {
	if value == 0 {
		return ""
	}
	return strconv.FormatInt(value, 10)
}
