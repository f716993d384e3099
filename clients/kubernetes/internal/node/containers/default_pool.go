package containers

import (
	"context"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/node/cpulist"
	"nrd.internal/kubernetes/internal/nrd"
)

// defaultPoolDeadline of the question for it. Containers that request nothing start without an answer: the node's own
// pods must, while nrd is away.
const defaultPoolDeadline = 300 * time.Millisecond

// defaultPool is what containers get that request no CPUs: nrd's cpu.default_pool.
type defaultPool struct {
	name string // empty: there is none
	cpus string // those that are online
}

func (p *Plugin) defaultPool(ctx context.Context) (defaultPool, error) {
	if !p.hasPools {
		return defaultPool{}, nil
	}
	node, err := p.client.Node(ctx)
	if err != nil || node.Capacity.DefaultPool == "" {
		return defaultPool{}, err
	}
	pools, err := p.client.Pools(ctx)
	if err != nil {
		return defaultPool{}, err
	}
	found := defaultPool{name: node.Capacity.DefaultPool}
	for _, each := range pools {
		if each.Name == found.name {
			found.cpus, err = cpulist.Intersection(each.CPUs, node.CPUs.Online)
		}
	}
	return found, err
}

// confine keeps a container that requests nothing on the CPUs of the default pool. If they are not known now, the
// comparison does it later.
func (p *Plugin) confine(ctx context.Context, container *api.Container) *api.ContainerAdjustment {
	if !p.hasPools || isPlaced(container) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, defaultPoolDeadline)
	defer cancel()
	pool, err := p.defaultPool(asking)
	if err != nil || pool.cpus == "" {
		return nil
	}
	change := &api.ContainerAdjustment{}
	change.SetLinuxCPUSetCPUs(pool.cpus)
	return change
}

// isPlaced reports whether kubelet's CPU manager has chosen the CPUs of a container that is about to be created.
func isPlaced(container *api.Container) bool { return cpusOf(container) != "" }

// confineAll follows changes of the pool and of the CPUs that are online. Containers keep what they have if there is no
// default pool: an empty set would mean "unchanged". They do so, too, where kubelet's CPU manager has chosen their CPUs: of a
// container that runs, the cpuset does not tell who did.
func (p *Plugin) confineAll(ctx context.Context, pool defaultPool, granted []nrd.Workload) error {
	if pool.cpus == "" {
		return nil
	}
	if err := p.enter(ctx); err != nil {
		return err
	}
	outside := p.book.outdated(granted, asksForNoCPUs)
	for container, cpus := range p.book.confined {
		if cpus != pool.cpus {
			outside[container] = pool.cpus
		}
	}
	p.leave()
	if len(outside) == 0 {
		return nil
	}
	if placed, err := p.kubelet.PlacedCPUs(ctx); err != nil || placed > 0 {
		return err
	}
	return p.move(ctx, outside)
}

// pauseOf requests the default pool for the pod's own container. NRI has no way to change it, so nrd writes its cpuset,
// or has systemd do so for a scope.
func pauseOf(pod *api.PodSandbox) (entry, error) {
	cgroup, err := cgroupPath(pod.GetLinux().GetCgroupsPath())
	if err != nil {
		return entry{}, err
	}
	who := podIdentity(pod)
	request := nrd.Request{Owner: &nrd.Owner{Cgroup: true, WithinSeconds: graceSeconds}, Labels: labelsOf(who)}
	if strings.HasSuffix(cgroup, ".scope") {
		request.Unit = path.Base(cgroup)
	} else {
		request.Cgroup = cgroup
	}
	return entry{identity: who, container: pod.Id, request: request}, nil
}

// notePause leaves the grant to the next comparison: a pod never waits for its pause container's.
func (p *Plugin) notePause(ctx context.Context, pod *api.PodSandbox) {
	e, err := pauseOf(pod)
	if err != nil || p.enter(ctx) != nil {
		return
	}
	defer p.leave()
	e.created = time.Now().UnixNano()
	p.book.putPause(e)
	p.Compare()
}

func (p *Plugin) forgetPause(pod *api.PodSandbox) {
	p.await()
	defer p.leave()
	if _, isThere := p.book.pauses[pod.Id]; isThere {
		delete(p.book.pauses, pod.Id)
		p.Compare()
	}
}

// leavePause gives up a pause container that nrd refuses, on cgroup v1 for example, or that has no process. Held: the turn.
func (p *Plugin) leavePause(e entry, err error) {
	delete(p.book.pauses, e.container)
	if text := err.Error(); text != p.refusal {
		slog.Warn("pause containers stay on all CPUs", "reason", err)
		p.refusal = text
	}
}
