package containers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/node/cpulist"
	"nrd.internal/kubernetes/internal/nrd"
)

// updateDeadline of a change of one container, for which no event of the runtime waits.
const updateDeadline = 30 * time.Second

// cpusOf are those of the container's cpuset; empty: it has none of its own.
func cpusOf(container *api.Container) string {
	return container.GetLinux().GetResources().GetCpu().GetCpus()
}

// cpusGranted are those of all pools together.
func cpusGranted(grants []nrd.CPUGrant) (string, error) {
	lists := make([]string, 0, len(grants))
	for _, grant := range grants {
		lists = append(lists, grant.CPUs)
	}
	return cpulist.Union(lists...)
}

// hasSameCPUs reports whether nrd has the request for CPUs. One without CPUs is not compared: nrd adds its default pool.
func hasSameCPUs(wanted []nrd.CPURequest, found []nrd.CPURequest) bool {
	if len(wanted) == 0 {
		return true
	}
	if len(wanted) != len(found) {
		return false
	}
	for position, request := range wanted {
		if !isSameRequest(request, found[position]) {
			return false
		}
	}
	return true
}

func isSameRequest(a, b nrd.CPURequest) bool {
	first, firstErr := cpulist.Union(a.CPUs)
	second, secondErr := cpulist.Union(b.CPUs)
	a.CPUs, b.CPUs = "", ""
	return firstErr == nil && secondErr == nil && first == second && a == b
}

// UpdateContainer comes before kubelet's change of a container. Its CPU manager, unless the policy is none, gives each container
// without CPUs of its own those that are left, every few seconds until it has: one with CPUs of a pool keeps the pool's.
func (p *Plugin) UpdateContainer(ctx context.Context, _ *api.PodSandbox, container *api.Container, wanted *api.LinuxResources) ([]*api.ContainerUpdate, error) {
	if wanted.GetCpu().GetCpus() == "" { // a change of the limits
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, eventDeadline)
	defer cancel()
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.leave()
	e, isThere := p.book.entries[container.Id]
	if !isThere || !p.asksForPools(e.devices) || e.cpus == "" {
		return nil, nil
	}
	kept := &api.ContainerUpdate{ContainerId: container.Id}
	kept.SetLinuxCPUSetCPUs(e.cpus)
	return []*api.ContainerUpdate{kept}, nil
}

// followGrants changes the cpusets of running containers that requested CPUs, after nrd has changed what their grants have:
// CPUs of shared pools come and go with the configuration and with CPUs that go offline. The memory stays where it is,
// because the kernel would move it inside the write.
func (p *Plugin) followGrants(ctx context.Context, granted []nrd.Workload) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	wanted := p.book.outdated(granted, asksForCPUs)
	p.leave()
	return p.move(ctx, wanted)
}

// move sets cpusets, by the runtime's id of the container. What fails is tried again with the next comparison. Not while
// the turn is held: the runtime may be in an event that waits for it.
func (p *Plugin) move(ctx context.Context, wanted map[string]string) error {
	var failures []error
	moved := 0
	for container, cpus := range wanted {
		if err := p.update(container, cpus); err != nil {
			failures = append(failures, fmt.Errorf("cannot set the CPUs of container %s to %s: %w", container, cpus, err))
			continue
		}
		if err := p.enter(ctx); err != nil {
			return errors.Join(append(failures, err)...)
		}
		p.book.setCPUs(container, cpus)
		p.leave()
		moved++
	}
	if moved > 0 {
		slog.Info("moved containers to their CPUs", "containers", moved)
	}
	return errors.Join(failures...)
}

// update asks the runtime to change a container. One that has ended is no failure. One container in each call: an
// answer with a failure does not tell which.
func (p *Plugin) update(container, cpus string) error {
	connection := p.connection.Load()
	if connection == nil {
		return errors.New("there is no connection to the container runtime")
	}
	update := &api.ContainerUpdate{ContainerId: container}
	update.SetLinuxCPUSetCPUs(cpus)
	// The library's call has no deadline: only the end of the connection, which is made again, ends it.
	late := time.AfterFunc(updateDeadline, (*connection).Stop)
	defer late.Stop()
	_, err := (*connection).UpdateContainers([]*api.ContainerUpdate{update})
	return err
}
