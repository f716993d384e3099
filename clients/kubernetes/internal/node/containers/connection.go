package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

const (
	pluginName  = "nrd"
	pluginIndex = "50"
	// The connection is made again after a time that doubles from the first to the last of these.
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
	// endGrace is the time in which the library notices the end of the connection.
	endGrace = time.Second
	// compareInterval is the longest time for which a difference between runtime and nrd stays unnoticed.
	compareInterval = time.Minute
	// mostRepairs of a grant that nrd does not have any more, such as after the loss of its state. One that ends again each time has
	// no process in its cgroup: of a sandbox of CRI-O without pause container, of gVisor, of a virtual machine.
	mostRepairs = 2
	// lastingGrant is longer than nrd keeps a grant without a process.
	lastingGrant = 10 * time.Minute
)

// Run keeps the plugin connected to the runtime until the context ends.
func (p *Plugin) Run(ctx context.Context, socket string) error {
	go p.compareAlways(ctx)
	pause := firstPause
	last := ""
	for ctx.Err() == nil {
		began := time.Now()
		err := p.runOnce(ctx, socket)
		p.connected.Store(false)
		if time.Since(began) > lastPause {
			pause = firstPause // it had worked
		}
		if text := fmt.Sprint(err); text != last && ctx.Err() == nil {
			slog.Warn("no connection to the container runtime, whose log may have more; containers that ask for devices wait", "socket", socket, "reason", err)
			last = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
	return ctx.Err()
}

func (p *Plugin) runOnce(ctx context.Context, socket string) error {
	var dialer net.Dialer
	dialed, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	trunk := &noticed{Conn: dialed, ended: make(chan struct{})}
	defer trunk.Close()
	var connection stub.Stub
	// The end of an earlier connection is reported late: it does not close the present one.
	closed := func() {
		if p.connection.Load() == &connection {
			p.connected.Store(false)
		}
	}
	// A container whose creation is not answered in time is not let through, if the runtime knows policies.
	policy := stub.WithFailurePolicy(&api.FailurePolicy{FailRequest: true})
	// Without a function for the end of the connection the library exits the program.
	connection, err = stub.New(p, stub.WithPluginName(pluginName), stub.WithPluginIdx(pluginIndex), policy,
		stub.WithConnection(trunk), stub.WithLogger(quiet{}), stub.WithOnClose(closed))
	if err != nil {
		return err
	}
	p.connection.Store(&connection)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- connection.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		trunk.Close()
	case <-trunk.ended:
	}
	// The library waits forever for the configuration by a runtime that ended after the registration.
	select {
	case err := <-done:
		return err
	case <-time.After(endGrace):
		return errors.New("the runtime has closed the connection before it configured this client")
	}
}

// noticed is a connection whose end is noticed.
type noticed struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

func (n *noticed) Read(buffer []byte) (int, error) {
	length, err := n.Conn.Read(buffer)
	if err != nil {
		n.once.Do(func() { close(n.ended) })
	}
	return length, err
}

// quiet keeps the library's lines about each try out of the log; Run has one about the first.
type quiet struct{}

func (quiet) Debugf(context.Context, string, ...any) {}
func (quiet) Infof(context.Context, string, ...any)  {}
func (quiet) Warnf(_ context.Context, format string, arguments ...any) {
	slog.Warn("NRI: " + fmt.Sprintf(format, arguments...))
}
func (quiet) Errorf(_ context.Context, format string, arguments ...any) {
	slog.Debug("NRI: " + fmt.Sprintf(format, arguments...))
}

// Synchronize gets all containers of the runtime when the plugin connects.
func (p *Plugin) Synchronize(ctx context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	ctx, cancel := context.WithTimeout(ctx, eventDeadline)
	defer cancel()
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	p.book = p.bookOf(ctx, pods, containers)
	p.leave()
	p.connected.Store(true)
	slog.Info("connected to the container runtime", "containers", len(containers))
	p.changed()
	p.Compare()
	return nil, nil
}

// bookOf keeps those that requested something and have not ended.
func (p *Plugin) bookOf(ctx context.Context, pods []*api.PodSandbox, containers []*api.Container) *book {
	byID := map[string]*api.PodSandbox{}
	for _, pod := range pods {
		byID[pod.Id] = pod
	}
	next := newBook()
	next.isTold = true
	if pool, err := p.defaultPool(ctx); err == nil { // otherwise the comparison finds it
		next.defaultPool = pool.name
	}
	for _, pod := range running(pods, containers) {
		if e, err := pauseOf(pod); err == nil {
			next.putPause(e)
		}
	}
	for _, container := range inOrder(containers) {
		pod := byID[container.PodSandboxId]
		if pod == nil || hasEnded(container) {
			continue
		}
		if !hasDevices(pod, container) {
			if isRunning(container) {
				next.confined[container.Id] = cpusOf(container)
			}
			continue
		}
		found, err := p.readNoted(ctx, pod, container)
		if err != nil {
			slog.Warn("cannot read what a container asked for; its grant stays as it is", "pod", pod.Name,
				"namespace", pod.Namespace, "container", container.Name, "reason", err)
			found = unreadOf(pod, container)
		}
		next.put(found)
	}
	return next
}

// running leaves out sandboxes that have ended, which the runtime lists as well: kubelet keeps the last one of each completed pod,
// and that of before a reboot beside its successor. containerd forgets the process of each sandbox when it restarts, so that one
// with a container counts, too.
func running(pods []*api.PodSandbox, containers []*api.Container) []*api.PodSandbox {
	hasContainer := map[string]bool{}
	for _, container := range containers {
		if !hasEnded(container) {
			hasContainer[container.PodSandboxId] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *api.PodSandbox) bool { return pod.Pid == 0 && !hasContainer[pod.Id] })
}

// inOrder has the container last that counts if several have one workload: one that was started, and of those the newest.
func inOrder(containers []*api.Container) []*api.Container {
	return slices.SortedStableFunc(slices.Values(containers), func(a, b *api.Container) int {
		if order := cmp.Compare(startsOf(a), startsOf(b)); order != 0 {
			return order
		}
		return cmp.Compare(a.CreatedAt, b.CreatedAt)
	})
}

// startsOf is 0 for a container that was created and never started, otherwise 1.
func startsOf(container *api.Container) int {
	if container.State == api.ContainerState_CONTAINER_CREATED {
		return 0
	}
	return 1
}

func isRunning(container *api.Container) bool {
	return container.State == api.ContainerState_CONTAINER_RUNNING
}

func hasEnded(container *api.Container) bool {
	return container.State == api.ContainerState_CONTAINER_STOPPED
}

// Compare schedules a comparison. Never blocks.
func (p *Plugin) Compare() { p.compare.Raise() }

func (p *Plugin) compareAlways(ctx context.Context) {
	pauses := kube.Pauses{Usual: compareInterval, AfterFailure: compareInterval}
	_ = kube.Repeat(ctx, p.compare, pauses, "cannot compare the containers with nrd's workloads", p.compareOnce)
}

// compareOnce makes nrd have what the runtime's containers requested, and nothing else of this package. Without a
// connection to the runtime nothing is known of its containers, so nothing is changed; nor at another node's nrd, whose
// workloads would all be without a container.
func (p *Plugin) compareOnce(ctx context.Context) error {
	if !p.Connected() {
		return nil
	}
	if err := p.machine.Mismatch(); err != nil {
		return err
	}
	pool, err := p.defaultPool(ctx)
	if err != nil {
		return err
	}
	if err := p.enter(ctx); err != nil {
		return err
	}
	p.book.defaultPool = pool.name
	p.leave()
	if err := p.readAgain(ctx); err != nil {
		return err
	}
	if err := p.enter(ctx); err != nil {
		return err
	}
	wanted := p.book.wanted()
	p.leave()
	found, err := p.client.Workloads(ctx) // after wanted: what nrd has granted since is not missing
	if err != nil {
		return err
	}
	missing, extra := difference(wanted, found)
	present := nrd.ByID(found)
	var failures []error
	for _, id := range extra {
		failures = append(failures, p.dropExtra(ctx, id))
	}
	for _, id := range missing {
		_, isThere := present[id]
		granted, err := p.grantMissing(ctx, id, !isThere)
		found, failures = append(found, granted...), append(failures, err)
	}
	if len(extra)+len(missing) > 0 {
		p.changed()
	}
	return errors.Join(append(failures, p.followGrants(ctx, found), p.confineAll(ctx, pool, found))...)
}

// dropExtra deletes a workload, unless its container has come back since the comparison. It waits until nrd is known to
// be this node's; the grants of containers that are gone end with their cgroups meanwhile.
func (p *Plugin) dropExtra(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, repairDeadline)
	defer cancel()
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	if _, isWanted := p.book.wanted()[id]; isWanted || !p.Connected() || !p.machine.IsConfirmed() {
		return nil
	}
	slog.Info("deleting a grant without a container", "workload", id)
	return p.client.Delete(ctx, id)
}

// grantMissing repairs the grant of a container, unless it has ended since the comparison. hasEnded: nrd has no workload of this id.
// It returns the workload if nrd has granted it.
func (p *Plugin) grantMissing(ctx context.Context, id string, hasEnded bool) ([]nrd.Workload, error) {
	ctx, cancel := context.WithTimeout(ctx, repairDeadline)
	defer cancel()
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.leave()
	e, isWanted := p.book.wanted()[id]
	if !isWanted || e.isKept() {
		return nil, nil
	}
	if hasEnded && e.endsEachTime() {
		p.giveUp(e)
		return nil, nil
	}
	granted, err := p.client.Put(ctx, id, e.request)
	if e.isPause() && nrd.IsRefusal(err) {
		p.leavePause(e, err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", id, err)
	}
	if hasEnded {
		p.book.countRepair(e.container)
	}
	slog.Info("granted again what a container has", "workload", id)
	return []nrd.Workload{granted}, nil
}

// giveUp a container whose grant ends each time. Held: the turn.
func (p *Plugin) giveUp(e entry) {
	if e.isPause() {
		p.leavePause(e, errors.New("the grant of one keeps ending: it has no process in its cgroup, or others delete it at nrd"))
		return
	}
	delete(p.book.entries, e.container)
	note := "container " + e.identity.container + ": its grant keeps ending and is given up: no process of the node is in its cgroup, as with a RuntimeClass for virtual machines or for gVisor, or others delete it at nrd"
	slog.Warn("grant given up", "workload", e.workloadID(), "pod", e.pod, "namespace", e.namespace, "reason", note)
	p.tellIgnored(e.identity, note)
}
