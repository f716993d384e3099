// Package containers gives each container what it requested before its first instruction, through NRI.
//
//	CreateContainer      nrd grants all or refuses; the answer is written into the container
//	StartContainer       nrd gets the process, which has not been executed yet
//	PostStartContainer   from now on the runtime can change the cpuset
//	Stop, Remove         the grant is given back
//	Synchronize          at each connection: all containers of the runtime, from which everything is repaired
//
// A refusal keeps the container from being created; kubelet shows it in the pod's events and tries again. The runtime
// disconnects a plugin that answers later than 2 s. Then it lets containers through, with NRI of before 0.12.5 also the one of this
// event, so every event has 1.5 s for all of it, and PreStartContainer of package devices refuses while there is no connection.
package containers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	eventDeadline = 1500 * time.Millisecond
	// repairDeadline of one call of a comparison, so that an event behind it has most of its time left.
	repairDeadline = 500 * time.Millisecond
)

// Machine reports whether nrd is that of this node, and not another one's behind a wrong socket.
type Machine interface {
	// Mismatch is an error once both machines are known and differ.
	Mismatch() error
	// IsConfirmed once they are known to be one.
	IsConfirmed() bool
}

// Plugin answers the runtime's events. NRI calls its methods on any goroutine.
type Plugin struct {
	client  *nrd.Client
	kubelet *Kubelet
	machine Machine
	events  *kube.Events
	base    string // of the names of CPU pools, "nokia.k8s.io"
	// hasPools: this client hands out CPUs of pools; otherwise the annotation of CPUs is another program's.
	hasPools bool
	results  *health.Counter
	changed  func() // grants have changed

	connected  atomic.Bool
	connection atomic.Pointer[stub.Stub]
	turn       chan struct{} // has one token: held for each change of book and nrd together
	book       *book
	compare    kube.Signal
	refusal    string // of a pause container, the last
}

// NewPlugin has no connection until Run.
func NewPlugin(client *nrd.Client, kubelet *Kubelet, machine Machine, events *kube.Events, resourceBase string, hasPools bool, metrics *health.Metrics) *Plugin {
	results := metrics.Counter("nrd_kube_containers_total", "Containers that asked for something, by result.", "result", "granted", "refused")
	return &Plugin{client: client, kubelet: kubelet, machine: machine, events: events, base: resourceBase, hasPools: hasPools, results: results, changed: func() {},
		turn: make(chan struct{}, 1), book: newBook(), compare: kube.NewSignal()}
}

// OnChange sets changed, which is called when grants have changed and must not block. Call it before Run.
func (p *Plugin) OnChange(changed func()) { p.changed = changed }

// Connected reports whether the runtime has this plugin now.
func (p *Plugin) Connected() bool { return p.connected.Load() }

// Present has the devices of one resource that containers have, and the workloads of containers that have not ended; nil
// before the runtime has listed them.
func (p *Plugin) Present(resource string) (map[string]bool, devices.Live) {
	p.await()
	defer p.leave()
	inUse := p.book.inUse(resource)
	if !p.book.isTold {
		return inUse, nil
	}
	live := devices.Live{}
	for id := range p.book.wanted() {
		live[id] = true
	}
	return inUse, live
}

// Container that requested something and has not ended.
type Container struct {
	Namespace, Pod, PodUID, Name string
	Workload                     string // its id at nrd
	IsStatic                     bool   // from a file of the node
}

// Containers of the node; an error before the runtime has listed them. Of two pods of one name they are those of the newer one:
// the former was deleted with force, and its containers have not ended.
func (p *Plugin) Containers() ([]Container, error) {
	p.await()
	defer p.leave()
	if !p.book.isTold {
		return nil, errors.New("the container runtime has not listed its containers yet")
	}
	var list []Container
	newest := p.book.newestPods()
	for _, e := range p.book.entries {
		if newest[e.namespace+"/"+e.pod].podUID == e.podUID {
			list = append(list, Container{Namespace: e.namespace, Pod: e.pod, PodUID: e.podUID, Name: e.identity.container,
				Workload: e.workloadID(), IsStatic: e.isStatic})
		}
	}
	return list, nil
}

// enter waits for the turn, at most until the deadline of the event.
func (p *Plugin) enter(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nrd's client on this node is busy: %w", ctx.Err())
	}
}

// await waits for the turn, however long it takes: if the end of a container is not noted, each comparison grants again what
// it had. The event or comparison that has the turn has a deadline, and a runtime that does not wait connects again and sends
// all containers.
func (p *Plugin) await() { p.turn <- struct{}{} }

func (p *Plugin) leave() { <-p.turn }

// CreateContainer asks nrd for what the container was given by kubelet.
func (p *Plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	ctx, cancel := context.WithTimeout(ctx, eventDeadline)
	defer cancel()
	if !hasDevices(pod, container) {
		change, err := p.createWithoutDevices(ctx, pod, container)
		return change, nil, err
	}
	if err := p.machine.Mismatch(); err != nil {
		return nil, nil, p.refused(container, err)
	}
	if err := p.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer p.leave()
	wanted, err := p.entryOf(ctx, pod, container, p.confirmed(pod, container))
	if err != nil {
		return nil, nil, p.refused(container, err)
	}
	asksForPools := p.asksForPools(wanted.devices)
	if !asksForPools {
		pool, err := p.defaultPool(ctx)
		if err != nil {
			return nil, nil, p.refused(container, err)
		}
		p.book.defaultPool = pool.name
	}
	granted, err := p.client.Put(ctx, wanted.workloadID(), wanted.in(p.book.defaultPool).request)
	if err != nil {
		return nil, nil, p.refused(container, err)
	}
	if !asksForPools && isPlaced(container) {
		granted.CPU = nil // the runtime writes what kubelet says, and nrd only reads it back
	}
	if wanted.cpus, err = cpusGranted(granted.CPU); err != nil {
		return nil, nil, p.refused(container, err)
	}
	p.book.put(wanted)
	p.changed()
	change, err := adjustment(container, granted, asksForPools)
	if err != nil {
		return nil, nil, p.refused(container, err)
	}
	p.tellReplaced(pod, container, change)
	for _, each := range annotations.Ignored(container.Name, pod.Annotations, true, len(wanted.devices[devices.WaysName]) > 0) {
		p.tellIgnored(wanted.identity, each)
	}
	p.results.Add("granted")
	slog.Info("granted", "workload", granted.ID, "class", granted.ClosName, "pod", pod.Name, "namespace", pod.Namespace)
	return change, nil, nil
}

func (p *Plugin) createWithoutDevices(ctx context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, error) {
	mismatch := p.machine.Mismatch()
	if p.isListed(pod) {
		if mismatch != nil {
			return nil, p.refused(container, mismatch)
		}
		if err := p.checkListed(ctx, pod, container.Name, nil); err != nil {
			return nil, p.refused(container, err)
		}
	}
	if mismatch != nil {
		return nil, nil // the default pool is another node's
	}
	return p.confine(ctx, container), nil
}

func (p *Plugin) refused(container *api.Container, err error) error {
	p.results.Add("refused")
	slog.Warn("container refused", "container", container.Name, "reason", err)
	return err
}

// StartContainer hands the process over. It waits in the runtime's init and executes the program after this.
func (p *Plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) error {
	if !hasDevices(pod, container) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, eventDeadline)
	defer cancel()
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	started, found := p.book.entries[container.Id]
	if !found {
		p.book.put(unreadOf(pod, container)) // CRI-O starts it in spite of the error
		p.Compare()
		return p.refused(container, errors.New("the container was created while nrd's client was away; it is created again"))
	}
	if err := p.machine.Mismatch(); err != nil {
		return p.refused(container, err)
	}
	if started.isKept() {
		var err error
		if started, err = p.readNoted(ctx, started.unread.pod, started.unread.container); err != nil {
			return p.refused(container, fmt.Errorf("cannot read what the container asks for, which is created again: %w", err))
		}
	}
	started, err := p.bind(ctx, started, container.Pid)
	if err != nil {
		return p.refused(container, err)
	}
	p.book.put(started)
	p.changed()
	return nil
}

// PostStartContainer comes once the program runs. A change of the cpuset before would be lost: containerd takes one while it starts
// a container, and writes it nowhere.
func (p *Plugin) PostStartContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	if hasEnded(container) {
		return nil
	}
	p.await()
	defer p.leave()
	if hasDevices(pod, container) {
		p.book.setRunning(container.Id, cpusOf(container))
		return nil
	}
	p.book.confined[container.Id] = cpusOf(container)
	if p.book.defaultPool != "" && cpusOf(container) == "" { // nrd did not answer in time as it was created
		p.Compare()
	}
	return nil
}

// StopContainer comes when a container is stopped and when it has ended.
func (p *Plugin) StopContainer(ctx context.Context, _ *api.PodSandbox, container *api.Container) ([]*api.ContainerUpdate, error) {
	p.release(ctx, container.Id)
	return nil, nil
}

// RemoveContainer comes for containers whose end was missed, too.
func (p *Plugin) RemoveContainer(ctx context.Context, _ *api.PodSandbox, container *api.Container) error {
	p.release(ctx, container.Id)
	return nil
}

// RunPodSandbox comes once the pod's own container runs.
func (p *Plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	p.notePause(ctx, pod)
	for _, each := range devices.Ignored(pod.Annotations) {
		p.tellIgnored(podIdentity(pod), each)
	}
	return nil
}

// StopPodSandbox comes when it has ended.
func (p *Plugin) StopPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	p.forgetPause(pod)
	return nil
}

// RemovePodSandbox ends what is left of a sandbox. After a restart of the pod kubelet removes the former sandbox while
// containers run in the newer one.
func (p *Plugin) RemovePodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	p.await()
	left := p.book.of(pod.Id)
	p.leave()
	p.forgetPause(pod)
	for _, container := range left {
		p.release(ctx, container)
	}
	return nil
}

// release never fails: a grant that cannot be given back now is extra in the next comparison.
func (p *Plugin) release(ctx context.Context, container string) {
	ctx, cancel := context.WithTimeout(ctx, eventDeadline)
	defer cancel()
	p.await()
	defer p.leave()
	delete(p.book.confined, container)
	workload, ends := p.book.end(container)
	if !ends || p.machine.Mismatch() != nil {
		return
	}
	if err := p.client.Delete(ctx, workload); err != nil {
		slog.Warn("cannot give a grant back; trying again within a minute", "workload", workload, "reason", err)
		p.Compare()
		return
	}
	slog.Info("given back", "workload", workload)
	p.changed()
}
