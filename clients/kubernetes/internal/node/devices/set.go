package devices

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

// refreshInterval is the time after which the lists follow what no event announced, such as the state of Onload.
const refreshInterval = 10 * time.Second

// Containers of the node. They are asked after nrd: what nrd still has of one that ended in between is no obstacle then.
type Containers interface {
	// Present has the devices of one resource that containers have, and the workloads of containers that have not ended. Both are
	// of one moment: the devices of one that ended in between would be neither in use nor free.
	Present(resource string) (inUse map[string]bool, live Live)
}

// Live has the ids of workloads; nil before the runtime has listed its containers.
type Live map[string]bool

// HasEnded reports whether a workload is of a container that has ended. Kubelet gives its devices to the next one at once,
// and refuses a pod for good if they are unhealthy; nrd frees what it holds before the next one is granted.
func (l Live) HasEnded(workload string) bool {
	return l != nil && strings.HasPrefix(workload, nrd.ContainerPrefix) && !l[workload]
}

// Set has the plugins of the node.
type Set struct {
	client *nrd.Client
	gate   Gate
	// mismatch is an error if nrd is another machine's.
	mismatch   func() error
	containers Containers
	base       string   // of the names of CPU pools
	kinds      []string // "ways", "onload", "pools"
	plugins    map[string]*Plugin
	refresh    kube.Signal
}

// NewSet makes no plugin yet; mismatch is an error if nrd is another machine's.
func NewSet(client *nrd.Client, gate Gate, mismatch func() error, containers Containers, base string, kinds []string) *Set {
	return &Set{client: client, gate: gate, mismatch: mismatch, containers: containers, base: base, kinds: kinds,
		plugins: map[string]*Plugin{}, refresh: kube.NewSignal()}
}

// Refresh makes Run look at nrd soon. Never blocks.
func (s *Set) Refresh() { s.refresh.Raise() }

// Run registers first, in kubelet's folder of device plugins, and fills in later: kubelet fails pods for good while a resource that
// they have is unknown.
func (s *Set) Run(ctx context.Context, folder string) error {
	if err := removeLeftovers(folder); err != nil {
		slog.Warn("sockets of before stay in kubelet's directory", "reason", err)
	}
	if s.has("ways") {
		s.plugin(ctx, folder, Ways)
	}
	if s.has("onload") {
		s.plugin(ctx, folder, Onload)
	}
	pauses := kube.Pauses{Usual: refreshInterval, AfterFailure: refreshInterval}
	return kube.Repeat(ctx, s.refresh, pauses, "cannot learn the node's capacity; the lists stay as they are",
		func(ctx context.Context) error { return s.publish(ctx, folder) })
}

func (s *Set) has(kind string) bool { return slices.Contains(s.kinds, kind) }

// plugin of the resource; a new one begins to serve.
func (s *Set) plugin(ctx context.Context, folder string, resource Resource) *Plugin {
	if found := s.plugins[resource.Name]; found != nil {
		found.Become(resource)
		return found
	}
	plugin := NewPlugin(resource, s.gate)
	s.plugins[resource.Name] = plugin
	go plugin.Serve(ctx, folder)
	return plugin
}

func (s *Set) publish(ctx context.Context, folder string) error {
	if s.mismatch() != nil { // it is in the log
		for _, plugin := range s.plugins {
			plugin.Publish(nil)
		}
		return nil
	}
	node, err := s.client.Node(ctx)
	if err != nil {
		return err
	}
	var failures []error
	if s.has("ways") {
		inUse, live := s.containers.Present(WaysName)
		s.plugin(ctx, folder, Ways).Publish(WaysList(node, inUse, live))
	}
	if s.has("onload") {
		onload, err := s.client.Onload(ctx)
		failures = append(failures, err)
		if err == nil {
			s.plugin(ctx, folder, Onload).Publish(OnloadList(node, onload))
		}
	}
	if s.has("pools") {
		failures = append(failures, s.publishPools(ctx, folder, node.Capacity.Kubernetes()))
	}
	return errors.Join(failures...)
}

// publishPools follows the configuration of nrd: a pool that is gone has no devices any more.
func (s *Set) publishPools(ctx context.Context, folder string, reserve nrd.Reserve) error {
	pools, err := s.client.Pools(ctx)
	if err != nil {
		return err
	}
	cpus, err := s.client.CPUs(ctx)
	if err != nil {
		return err
	}
	lists := map[string][]*kubelet.Device{}
	for _, each := range pools {
		resource := resourceOf(s.client, s.base, each)
		plugin := s.plugin(ctx, folder, resource)
		inUse, live := s.containers.Present(resource.Name)
		list, err := PoolList(each, reserve, cpus, inUse, live)
		if err != nil {
			return err
		}
		lists[resource.Name] = list
		plugin.Publish(list)
	}
	for name, plugin := range s.plugins {
		if strings.HasPrefix(name, s.base+"/") && lists[name] == nil {
			plugin.Publish(nil)
		}
	}
	return nil
}
