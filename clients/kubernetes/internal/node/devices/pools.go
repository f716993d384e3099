package devices

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/node/cpulist"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	// milliCPU is the unit of a shared pool: kubelet counts, nrd turns the number into a share of CPU time.
	milliCPU = 1000
	// mostShared bounds the list of a shared pool: gRPC's messages have 4 MB at most, a device about 18 bytes.
	mostShared = 128 * milliCPU
)

// resourceOf a CPU pool, as CPU Pooler advertised it: of an exclusive pool one device a CPU, with its number as id; of a
// shared one 1000 devices a CPU.
func resourceOf(client *nrd.Client, base string, pool nrd.Pool) Resource {
	resource := Resource{Name: base + "/" + pool.Name, Slug: "pool-" + pool.Name}
	if pool.IsExclusive() {
		resource.Preferred = func(ctx context.Context, available, required []string, count int) []string {
			return preferred(ctx, client, pool, available, required, count)
		}
	}
	return resource
}

// preferred asks nrd's planner, which knows cores and caches, among the CPUs that kubelet has left.
func preferred(ctx context.Context, client *nrd.Client, pool nrd.Pool, available, required []string, count int) []string {
	cpus, err := client.CPUs(ctx)
	if err != nil {
		return nil
	}
	asked, err := choiceOf(pool, available, count, CoresOf(cpus))
	if err != nil {
		return nil
	}
	planned, err := client.DryRun(ctx, nrd.ContainerPrefix+"preferred", nrd.Request{CPU: []nrd.CPURequest{asked}})
	if err != nil || len(planned.CPU) != 1 {
		return nil
	}
	return devicesOf(planned.CPU[0].CPUs, available, required)
}

// choiceOf requests CPUs of this many devices among those that are available, each of which stands for its core unless the
// pool has single threads: nrd gives no CPU of a core of which it may not have the others.
func choiceOf(pool nrd.Pool, available []string, count int, cores map[string]string) (nrd.CPURequest, error) {
	asked := nrd.CPURequest{Pool: pool.Name, Count: count}
	if pool.Threads == "any" {
		cores = nil
	}
	if pool.Threads == "all" {
		asked.Count, asked.Cores = 0, count
	}
	var err error
	asked.Among, err = CPUsOf(available, cores)
	return asked, err
}

// devicesOf the CPUs that were planned; nil if one of required is not among them.
func devicesOf(planned string, available, required []string) []string {
	cpus, err := cpulist.Parse(planned)
	if err != nil {
		return nil
	}
	var chosen []string
	for _, cpu := range cpus {
		if id := strconv.Itoa(cpu); slices.Contains(available, id) {
			chosen = append(chosen, id)
		}
	}
	for _, id := range required {
		if !slices.Contains(chosen, id) {
			return nil
		}
	}
	return chosen
}

// CPUsOf devices: their numbers, or their whole cores.
func CPUsOf(ids []string, cores map[string]string) (string, error) {
	lists := make([]string, 0, len(ids))
	for _, id := range ids {
		if core, found := cores[id]; found {
			id = core
		}
		lists = append(lists, id)
	}
	return cpulist.Union(lists...)
}

// CoresOf has all CPUs of the core, by the number of one.
func CoresOf(cpus nrd.CPUs) map[string]string {
	cores := map[string]string{}
	for _, zone := range cpus.Zones {
		members, err := cpulist.Parse(zone.CPUs)
		if zone.Level != "core" || err != nil {
			continue
		}
		for _, cpu := range members {
			cores[strconv.Itoa(cpu)] = zone.CPUs
		}
	}
	return cores
}

// PoolList lists the devices of a pool: of its reserve, if there are reserves. CPUs that others than containers have are
// unhealthy.
func PoolList(pool nrd.Pool, reserve nrd.Reserve, cpus nrd.CPUs, inUse map[string]bool, live Live) ([]*kubelet.Device, error) {
	text := pool.CPUs
	reserved, isReserved := reserve.Pools[pool.Name]
	if isReserved && pool.IsExclusive() {
		text = reserved.Reserved
	}
	members, err := cpulist.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("pool %s: %w", pool.Name, err)
	case reserve.Pools != nil && !isReserved:
		return nil, nil
	case isReserved && !pool.IsExclusive():
		return sharedList(reserved.ReservedMilli), nil
	case !pool.IsExclusive():
		return sharedList(len(members) * milliCPU), nil
	}
	isFree := map[int]bool{}
	for _, cpu := range cpus.CPUs {
		isFree[cpu.CPU] = cpu.Use == "free" || live.HasEnded(cpu.Workload)
	}
	nodes, cores := zonesOf(cpus, "node"), zonesOf(cpus, "core")
	var list []*kubelet.Device
	seen := map[int]bool{}
	for _, cpu := range members {
		core, hasCore := cores[cpu]
		if hasCore && pool.Threads != "any" {
			// One device a core, its first CPU in the pool: the other threads stay idle or come with it.
			if seen[core] {
				continue
			}
			seen[core] = true
		}
		id := strconv.Itoa(cpu)
		device := &kubelet.Device{ID: id, Health: kubelet.Unhealthy}
		if isFree[cpu] || inUse[id] {
			device.Health = kubelet.Healthy
		}
		if node, found := nodes[cpu]; found {
			device.Topology = &kubelet.TopologyInfo{Nodes: []*kubelet.NUMANode{{ID: int64(node)}}}
		}
		list = append(list, device)
	}
	return list, nil
}

func sharedList(milli int) []*kubelet.Device {
	total := min(milli, mostShared)
	list := make([]*kubelet.Device, 0, total)
	for device := range total {
		list = append(list, &kubelet.Device{ID: strconv.Itoa(device), Health: kubelet.Healthy})
	}
	return list
}

// zonesOf gives the zone of one level by CPU.
func zonesOf(cpus nrd.CPUs, level string) map[int]int {
	found := map[int]int{}
	for position, zone := range cpus.Zones {
		if zone.Level != level {
			continue
		}
		id := zone.ID
		if level == "core" {
			id = position // the kernel's ids of cores repeat in each package
		}
		members, err := cpulist.Parse(zone.CPUs)
		if err != nil {
			continue // offline CPUs have no zone either
		}
		for _, cpu := range members {
			found[cpu] = id
		}
	}
	return found
}
