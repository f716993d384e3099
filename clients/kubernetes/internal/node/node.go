// Package node is the role that runs on each node: it advertises what nrd has, and hands out what nrd grants.
package node

import (
	"context"
	"errors"
	"slices"

	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/node/state"
	"nrd.internal/kubernetes/internal/node/workloads"
	"nrd.internal/kubernetes/internal/nrd"
	"nrd.internal/kubernetes/internal/parts"
)

// Options of "nrd-kube node".
type Options struct {
	Node         string
	Kubeconfig   string
	NRDSocket    string
	NRISocket    string
	KubeletDir   string
	PluginsDir   string // of kubelet's device plugins
	Health       string
	Resources    []string
	ResourceBase string
}

// Run serves until the context ends. It returns early only with an error.
func Run(ctx context.Context, options Options) error {
	client := nrd.New(options.NRDSocket)
	api, err := kube.Dynamic(options.Kubeconfig)
	if err != nil {
		return err
	}
	kubelet, err := containers.NewKubelet(containers.SocketOf(options.KubeletDir))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	who := newMachine(client, api, options.Node)
	metrics := &health.Metrics{}
	events := kube.NewEvents(api, options.Node)
	plugin := containers.NewPlugin(client, kubelet, who, events, options.ResourceBase, slices.Contains(options.Resources, "pools"), metrics)
	gate := func(ctx context.Context) error { return ready(ctx, plugin, who) }
	set := devices.NewSet(client, gate, who.Mismatch, plugin, options.ResourceBase, options.Resources)
	crs := workloads.New(client, api, events, options.Node)
	automatic := workloads.NewAutomatic(client, api, options.Node, plugin.Containers, kubelet.Pods)
	plugin.OnChange(func() { set.Refresh(); automatic.Wake() })
	mirror := state.New(client, api, options.Node)
	who.askFirst(ctx)
	return parts.Run(ctx,
		who.Run,
		func(ctx context.Context) error { return set.Run(ctx, options.PluginsDir) },
		func(ctx context.Context) error { return plugin.Run(ctx, options.NRISocket) },
		func(ctx context.Context) error {
			return who.after(ctx, func(ctx context.Context) error {
				plugin.Compare() // what it has not deleted before the machine was known
				return crs.Run(ctx)
			})
		},
		func(ctx context.Context) error { return who.after(ctx, automatic.Run) },
		func(ctx context.Context) error { return who.after(ctx, mirror.Run) },
		func(ctx context.Context) error {
			return client.WatchWorkloads(ctx, func() { crs.Wake(); automatic.Wake(); mirror.Wake() })
		},
		func(ctx context.Context) error {
			return client.WatchCapacity(ctx, func() { who.Wake(); set.Refresh(); plugin.Compare(); crs.Wake(); mirror.Wake() })
		},
		func(ctx context.Context) error { return who.after(ctx, events.Run) },
		func(ctx context.Context) error { return health.Serve(ctx, options.Health, gate, metrics) },
	)
}

// ready is the check before each creation of a container that has devices: the runtime asks this client, and this node's
// nrd answers.
func ready(ctx context.Context, plugin *containers.Plugin, who *machine) error {
	if !plugin.Connected() {
		return errors.New("nrd's client is not connected to the container runtime on this node (NRI); see nrd-kube check")
	}
	if err := who.Mismatch(); err != nil {
		return err
	}
	return who.Answers(ctx)
}
