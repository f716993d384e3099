// Package pools knows the nodes of the node role and their CPU pools, from what each node client writes into its RmdNodeState.
package pools

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/kube"
)

// Watcher of the pools.
type Watcher struct {
	informer cache.SharedIndexInformer
	pools    atomic.Pointer[annotations.Pools]
	changed  kube.Signal
}

// New watches from Run on.
func New(api dynamic.Interface) (*Watcher, error) {
	w := &Watcher{changed: kube.NewSignal()}
	w.informer = kube.NewInformer(api, kube.Selection{Resource: intel.NodeStates, Namespace: intel.NodeStatesNamespace})
	if err := w.informer.SetTransform(poolsAlone); err != nil {
		return nil, err
	}
	return w, nil
}

// poolsAlone keeps the workloads of 5000 nodes out of the memory.
func poolsAlone(object any) (any, error) {
	state, isState := object.(*unstructured.Unstructured)
	if !isState {
		return object, nil
	}
	small := &unstructured.Unstructured{Object: map[string]any{"apiVersion": state.GetAPIVersion(), "kind": state.GetKind()}}
	small.SetNamespace(state.GetNamespace())
	small.SetName(state.GetName())
	small.SetResourceVersion(state.GetResourceVersion())
	if pools, found, err := unstructured.NestedFieldNoCopy(state.Object, "status", "pools"); err == nil && found {
		small.Object["status"] = map[string]any{"pools": pools}
	}
	return small, nil
}

// Run watches until the context ends.
func (w *Watcher) Run(ctx context.Context) error {
	if err := kube.WatchFor(ctx, w.informer, w.changed, havePoolsChanged); err != nil {
		return err
	}
	for {
		pools := poolsOf(w.informer.GetStore().List())
		w.pools.Store(&pools)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.changed:
		}
	}
}

// havePoolsChanged leaves out other changes: a state changes with each workload of its node, and the pools of all nodes are
// read for each.
func havePoolsChanged(before, after any) bool {
	was, is := before.(*unstructured.Unstructured), after.(*unstructured.Unstructured)
	return !reflect.DeepEqual(was.Object["status"], is.Object["status"])
}

// IsReady reports whether the pools are known.
func (w *Watcher) IsReady() bool { return w.pools.Load() != nil }

// Pools of all nodes; none before the first list.
func (w *Watcher) Pools() annotations.Pools {
	if pools := w.pools.Load(); pools != nil {
		return *pools
	}
	return nil
}

// Nodes that have an RmdNodeState, in the order of their names; false before the first list.
func (w *Watcher) Nodes() ([]string, bool) {
	if !w.IsReady() {
		return nil, false
	}
	return nodesOf(w.informer.GetStore().List()), true
}

func nodesOf(states []any) []string {
	nodes := []string{}
	for _, each := range states {
		if node, isNode := strings.CutPrefix(each.(*unstructured.Unstructured).GetName(), intel.NodeStatePrefix); isNode {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// poolsOf joins those of one name.
func poolsOf(states []any) annotations.Pools {
	all := annotations.Pools{}
	for _, each := range states {
		var state struct {
			Status intel.NodeStateStatus `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(each.(*unstructured.Unstructured).Object, &state); err != nil {
			slog.Warn("cannot read the pools of a node; they count as missing", "state", each.(*unstructured.Unstructured).GetName(), "reason", err)
			continue
		}
		for name, pool := range state.Status.Pools {
			all.Add(name, annotated(pool))
		}
	}
	return all
}

// threadsOfCore at most: a device of a pool with whole cores.
const threadsOfCore = 2

func annotated(pool intel.NodePool) annotations.Pool {
	found := annotations.Pool{IsExclusive: pool.Kind == "exclusive", CPUs: int(pool.CPUs), CPUsOfDevice: 1}
	if pool.Threads == "all" {
		found.CPUsOfDevice = threadsOfCore
	}
	return found
}
