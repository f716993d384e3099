package containers

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/node/cpulist"
	"nrd.internal/kubernetes/internal/nrd"
)

// adjustment writes nrd's answer into the container that is created. Variables tell about CPUs only a container that
// requested some.
func adjustment(container *api.Container, granted nrd.Workload, asksForPools bool) (*api.ContainerAdjustment, error) {
	change := &api.ContainerAdjustment{}
	if err := adjustCPUs(change, container, granted.CPU); err != nil {
		return nil, err
	}
	if asksForPools {
		if err := addVariables(change, granted.CPU); err != nil {
			return nil, err
		}
		emptyOthers(change, container.GetEnv())
	}
	if len(granted.CPU) > 0 || len(granted.Ways) > 0 || granted.Onload != nil {
		change.AddEnv("NRD_WORKLOAD", granted.ID)
	}
	if granted.Onload != nil {
		if err := adjustOnload(change, container, *granted.Onload); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// adjustCPUs sets the cpuset. An empty set is never sent: to the runtime it means "unchanged". The nodes that kubelet's memory
// manager chose stay, because it counts the container's memory there.
func adjustCPUs(change *api.ContainerAdjustment, container *api.Container, grants []nrd.CPUGrant) error {
	mems := make([]string, 0, len(grants))
	for _, grant := range grants {
		mems = append(mems, grant.Mems)
	}
	cpus, err := cpusGranted(grants)
	if err != nil {
		return err
	}
	nodes, err := cpulist.Union(mems...)
	if err != nil {
		return err
	}
	if cpus != "" {
		change.SetLinuxCPUSetCPUs(cpus)
	}
	if nodes != "" && container.GetLinux().GetResources().GetCpu().GetMems() == "" {
		change.SetLinuxCPUSetMems(nodes)
	}
	return nil
}

// addVariables adds ours and those of CPU Pooler. They replace what the pod's author set.
func addVariables(change *api.ContainerAdjustment, grants []nrd.CPUGrant) error {
	var exclusive, shared, pools []string
	for _, grant := range grants {
		exclusive = append(exclusive, grant.Exclusive)
		shared = append(shared, grant.Shared)
		pools = append(pools, grant.Pool+"="+grant.CPUs)
	}
	if len(pools) > 0 {
		change.AddEnv("NRD_POOLS", strings.Join(pools, ";"))
	}
	var kinds []string
	for _, kind := range []struct{ list, ranges, plain, pool string }{
		{strings.Join(exclusive, ","), "NRD_CPUS", "EXCLUSIVE_CPUS", "exclusive"},
		{strings.Join(shared, ","), "NRD_CPUS_SHARED", "SHARED_CPUS", "shared"},
	} {
		cpus, err := cpulist.Parse(kind.list)
		if err != nil {
			return err
		}
		if len(cpus) == 0 {
			continue
		}
		change.AddEnv(kind.ranges, cpulist.Format(cpus))
		change.AddEnv(kind.plain, cpulist.Plain(cpus))
		kinds = append(kinds, kind.pool)
	}
	if len(kinds) > 0 {
		change.AddEnv("CPU_POOLS", strings.Join(kinds, "&"))
	}
	return nil
}

// ofPools are the variables of containers with CPUs of pools.
var ofPools = []string{"NRD_POOLS", "NRD_CPUS", "EXCLUSIVE_CPUS", "NRD_CPUS_SHARED", "SHARED_CPUS", "CPU_POOLS"}

// emptyOthers empties those that the pod's author set and that do not apply: a container with shared CPUs alone has no
// EXCLUSIVE_CPUS. NRI forgets a removal before it reaches the runtime.
func emptyOthers(change *api.ContainerAdjustment, environment []string) {
	for _, name := range ofPools {
		isSet := slices.ContainsFunc(change.GetEnv(), func(each *api.KeyValue) bool { return each.Key == name })
		if !isSet && variable(environment, name) != "" {
			change.AddEnv(name, "")
		}
	}
}

// adjustOnload adds variables, devices and files of Onload. Without devices applications would run without Onload
// unnoticed.
func adjustOnload(change *api.ContainerAdjustment, container *api.Container, grant nrd.OnloadGrant) error {
	for name, value := range grant.Environment {
		if name == "LD_PRELOAD" {
			value = preload(value, variable(container.GetEnv(), name))
		}
		change.AddEnv(name, value)
	}
	for _, mount := range grant.Mounts {
		options := []string{"bind", "nosuid", "nodev"}
		if mount.ReadOnly {
			options = append(options, "ro")
		}
		change.AddMount(&api.Mount{Source: mount.Source, Destination: mount.Target, Type: "bind", Options: options})
	}
	if len(grant.DeviceNodes) == 0 {
		return errors.New("nrd names no device of Onload for the container")
	}
	for _, device := range grant.DeviceNodes {
		mode := os.FileMode(device.Mode)
		change.AddDevice(&api.LinuxDevice{
			Path: device.Path, Type: device.Type, Major: device.Major, Minor: device.Minor, FileMode: api.FileMode(&mode),
		})
	}
	return nil
}

// preload puts ours in front of what the container has, not in its place.
func preload(ours, theirs string) string {
	for _, library := range strings.FieldsFunc(theirs, func(c rune) bool { return c == ':' || c == ' ' }) {
		if !strings.Contains(":"+ours+":", ":"+library+":") {
			ours += ":" + library
		}
	}
	return ours
}

// variable is the last value of a name, as the kernel's exec and libc would find it in a container's environment.
func variable(environment []string, name string) string {
	found := ""
	for _, line := range environment {
		if value, isIt := strings.CutPrefix(line, name+"="); isIt {
			found = value
		}
	}
	return found
}
