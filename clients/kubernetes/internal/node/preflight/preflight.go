// Package preflight looks at a node as an operator would: what the node role needs, one line an item, with the remedy.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

// deadline of each item.
const deadline = 3 * time.Second

// Options of "nrd-kube check".
type Options struct {
	NRDSocket    string
	NRISocket    string
	KubeletDir   string
	PluginsDir   string // of kubelet's device plugins
	CgroupRoot   string
	ResourceBase string
	Resources    []string
}

// item is one line. An empty remedy means that nothing is missing.
type item struct {
	name, found, remedy string
}

// Run prints all items, also after one that is missing. The error counts those.
func Run(ctx context.Context, options Options, output io.Writer) error {
	missing := 0
	for _, look := range []func(context.Context, Options) []item{daemon, runtime, kubelet, cgroups, resources} {
		for _, each := range look(ctx, options) {
			mark := "ok      "
			if each.remedy != "" {
				mark, missing = "missing ", missing+1
			}
			fmt.Fprintf(output, "%s%-22s %s\n", mark, each.name, each.found)
			if each.remedy != "" {
				fmt.Fprintf(output, "        %-22s %s\n", "", each.remedy)
			}
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of what the node role needs is missing", missing)
	}
	return nil
}

func daemon(ctx context.Context, options Options) []item {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	health, err := nrd.New(options.NRDSocket).Health(ctx)
	if err != nil {
		return []item{{"nrd", err.Error(), "systemctl enable --now nrd, and a section [[server.sockets]] with path = \"" + options.NRDSocket + "\" and origin = \"kubernetes\""}}
	}
	if health.HardwareProblem != "" {
		return []item{{"nrd", health.HardwareProblem, "nrdctl status"}}
	}
	return []item{{"nrd", "version " + health.Version + " answers on " + options.NRDSocket, ""}}
}

func runtime(_ context.Context, options Options) []item {
	connection, err := net.DialTimeout("unix", options.NRISocket, deadline)
	if err != nil {
		return []item{{"NRI", err.Error(),
			"containerd 1.7 or newer with disable = false in [plugins.\"io.containerd.nri.v1.nri\"], or CRI-O 1.26 or newer with enable_nri = true"}}
	}
	connection.Close()
	return []item{{"NRI", "the container runtime listens on " + options.NRISocket, ""}}
}

// kubelet asks kubelet itself: its files belong to it and change with its versions.
func kubelet(ctx context.Context, options Options) []item {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	socket := containers.SocketOf(options.KubeletDir)
	client, err := containers.NewKubelet(socket)
	cpus := 0
	if err == nil {
		defer client.Close()
		cpus, err = client.PlacedCPUs(ctx)
	}
	if err != nil {
		return []item{{"kubelet", err.Error(), "start kubelet; --kubelet-dir is its root directory"}}
	}
	if !client.ReportsContainers(ctx) {
		return []item{{"kubelet", "does not report the devices of a single container", "Kubernetes 1.34 or newer"}}
	}
	found := []item{{"kubelet", "answers on " + socket, ""}, plugin(options)}
	// Only the policies other than none give CPUs to containers, and list those that they may give.
	if cpus > 0 {
		return append(found, item{"CPU manager", fmt.Sprintf("decides about %d CPUs", cpus), "cpuManagerPolicy: none in kubelet's configuration"})
	}
	return append(found, item{"CPU manager", "decides about no CPUs", ""})
}

func plugin(options Options) item {
	sockets, err := devices.Sockets(options.PluginsDir)
	if err != nil || len(sockets) == 0 {
		return item{"device plugins", "none in " + options.PluginsDir, "nrd-kube node --node NAME, or kubectl apply -k clients/kubernetes/deploy"}
	}
	names := slices.Sorted(maps.Values(sockets))
	return item{"device plugins", strings.Join(names, ", "), ""}
}

func cgroups(_ context.Context, options Options) []item {
	version := "version 1"
	if _, err := os.Stat(filepath.Join(options.CgroupRoot, "cgroup.controllers")); err == nil {
		version = "version 2"
	}
	driver := "unknown until the first pod runs"
	for _, each := range []struct{ folder, driver string }{{"kubepods.slice", "systemd"}, {"kubepods", "cgroupfs"}} {
		for _, hierarchy := range []string{"", "memory", "pids"} {
			if _, err := os.Stat(filepath.Join(options.CgroupRoot, hierarchy, each.folder)); err == nil {
				driver = each.driver
			}
		}
	}
	return []item{{"cgroups", version + ", driver " + driver, ""}}
}

func resources(ctx context.Context, options Options) []item {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	client := nrd.New(options.NRDSocket)
	node, err := client.Node(ctx)
	if err != nil {
		return nil // said already
	}
	var found []item
	for _, kind := range options.Resources {
		switch kind {
		case "ways":
			found = append(found, ways(node))
		case "onload":
			found = append(found, onload(ctx, client))
		case "pools":
			found = append(found, pools(ctx, client, options.ResourceBase)...)
		}
	}
	return found
}

func ways(node nrd.Node) item {
	if total := len(devices.WaysList(node, nil, nil)); total > 0 {
		return item{devices.WaysName, fmt.Sprint(total), ""}
	}
	return item{devices.WaysName, "0", "a CPU with cache allocation, resctrl mounted, and ways in [reserve.kubernetes]; or leave ways out of --resources"}
}

func onload(ctx context.Context, client *nrd.Client) item {
	state, err := client.Onload(ctx)
	if err != nil {
		return item{devices.OnloadName, err.Error(), "nrdctl onload status; or leave onload out of --resources"}
	}
	if admits, reason := state.Admits(); !admits {
		return item{devices.OnloadName, reason, "nrdctl onload status; or leave onload out of --resources"}
	}
	return item{devices.OnloadName, "version " + state.Version, ""}
}

func pools(ctx context.Context, client *nrd.Client, base string) []item {
	list, err := client.Pools(ctx)
	if err == nil && len(list) == 0 {
		err = errors.New("no pools")
	}
	if err != nil {
		return []item{{base + "/…", err.Error(), "a section [[cpu.pools]] in nrd's configuration; or leave pools out of --resources"}}
	}
	found := make([]item, 0, len(list))
	for _, pool := range list {
		found = append(found, item{base + "/" + pool.Name, pool.Kind + ", CPUs " + pool.CPUs, ""})
	}
	return found
}
