package containers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/nrd"
)

// entry is one container that requested something and has not ended.
type entry struct {
	identity
	container string // the runtime's id, another one after each restart
	sandbox   string // the runtime's id of its pod, another one after a restart of the pod
	request   nrd.Request
	devices   map[string][]string
	cpus      string // of its cpuset, as last set; empty: never
	runs      bool   // the runtime can change its cpuset
	created   int64  // nanoseconds since 1970; 0: a pause container of before the connection, whose age the runtime does not tell
	// unread: what it requests could not be read, and is tried again. Its workload stays as it is meanwhile.
	unread *unread
	// repairs are how often nrd soon did not have its workload any more, repaired is when it got the last one.
	repairs  int
	repaired time.Time
}

// unread is what a container's request is read from.
type unread struct {
	pod       *api.PodSandbox
	container *api.Container
}

// isKept reports whether its workload stays as it is.
func (e entry) isKept() bool { return e.unread != nil }

// book has the containers of the runtime that requested something. It is filled by Synchronize at each connection and
// by events in between, and never stored: the runtime, kubelet and nrd have it all. Not safe for concurrent use.
type book struct {
	entries map[string]entry // by the runtime's id
	// confined has the CPUs of running containers that requested nothing, as they were last set; empty: never.
	confined map[string]string
	// pauses has the pods' own containers, by the runtime's id of the pod. They are wanted while there is a default pool.
	pauses      map[string]entry
	defaultPool string
	isTold      bool // by the runtime: otherwise it may have containers that are not here
}

// isAt reports whether a workload is of this container, not of the one before a restart.
func (e entry) isAt(workload nrd.Workload) bool {
	return e.request.Cgroup == workload.Cgroup && e.request.Unit == workload.Unit
}

func newBook() *book {
	return &book{entries: map[string]entry{}, confined: map[string]string{}, pauses: map[string]entry{}}
}

// in gives it the default pool, if there is one and it requests no CPUs. nrd would do that as well, and write the cpuset
// itself; of all but pause containers the runtime writes it before the process is there.
func (e entry) in(defaultPool string) entry {
	if defaultPool == "" || len(e.request.CPU) > 0 {
		return e
	}
	request := nrd.CPURequest{Pool: defaultPool}
	if !e.isPause() {
		request.Enforce = "runtime"
	}
	e.request.CPU = []nrd.CPURequest{request}
	return e
}

// put replaces the container of before a restart, which has the same workload: kubelet removes it later, also one that
// was created and never started.
func (b *book) put(e entry) { putAlone(b.entries, e) }

// putPause replaces the former sandbox of the pod.
func (b *book) putPause(e entry) { putAlone(b.pauses, e) }

func putAlone(entries map[string]entry, e entry) {
	maps.DeleteFunc(entries, func(_ string, other entry) bool { return other.workloadID() == e.workloadID() })
	entries[e.container] = e
}

// end forgets a container. Its grant ends with it, unless a newer container has the workload.
func (b *book) end(container string) (workload string, ends bool) {
	ended, found := b.entries[container]
	delete(b.entries, container)
	return ended.workloadID(), found
}

// of lists the containers of one sandbox. The pod may have a newer one already.
func (b *book) of(sandbox string) []string {
	var found []string
	for container, e := range b.entries {
		if e.sandbox == sandbox {
			found = append(found, container)
		}
	}
	return found
}

// newestPods has an entry of the newest pod of each name, as in "default/feed".
func (b *book) newestPods() map[string]entry {
	newest := map[string]entry{}
	for _, entries := range []map[string]entry{b.entries, b.pauses} {
		for _, e := range entries {
			name := e.namespace + "/" + e.pod
			if other, isThere := newest[name]; !isThere || other.created < e.created {
				newest[name] = e
			}
		}
	}
	return newest
}

// kept are those whose request could not be read.
func (b *book) kept() []entry {
	var kept []entry
	for _, e := range b.entries {
		if e.isKept() {
			kept = append(kept, e)
		}
	}
	return kept
}

// wanted are the workloads that nrd should have of this package, by id.
func (b *book) wanted() map[string]entry {
	wanted := map[string]entry{}
	for _, e := range b.entries {
		wanted[e.workloadID()] = e.in(b.defaultPool)
	}
	if b.defaultPool != "" {
		for _, e := range b.pauses {
			wanted[e.workloadID()] = e.in(b.defaultPool)
		}
	}
	return wanted
}

func asksForCPUs(e entry) bool   { return len(e.request.CPU) > 0 }
func asksForNoCPUs(e entry) bool { return len(e.request.CPU) == 0 }

// outdated has the CPUs that the selected containers should have by their grants and do not have.
func (b *book) outdated(granted []nrd.Workload, isSelected func(entry) bool) map[string]string {
	byID := nrd.ByID(granted)
	outdated := map[string]string{}
	for _, e := range b.entries {
		workload, isGranted := byID[e.workloadID()]
		if !isGranted || !e.runs || !isSelected(e) || !e.isAt(workload) {
			continue
		}
		// To the runtime an empty set means "unchanged".
		if cpus, err := cpusGranted(workload.CPU); err == nil && cpus != "" && cpus != e.cpus {
			outdated[e.container] = cpus
		}
	}
	return outdated
}

// setCPUs notes what a container has now, unless it has ended.
func (b *book) setCPUs(container, cpus string) {
	if _, isThere := b.confined[container]; isThere {
		b.confined[container] = cpus
	}
	if e, isThere := b.entries[container]; isThere {
		e.cpus = cpus
		b.entries[container] = e
	}
}

// setRunning notes that a container that asked for something runs, with these CPUs.
func (b *book) setRunning(container, cpus string) {
	if e, isThere := b.entries[container]; isThere {
		e.runs, e.cpus = true, cpus
		b.entries[container] = e
	}
}

func (e entry) wasRepairedLately() bool { return time.Since(e.repaired) < lastingGrant }

// endsEachTime its grant, for lack of a process in its cgroup.
func (e entry) endsEachTime() bool { return e.repairs == mostRepairs && e.wasRepairedLately() }

// countRepair of the grant of a container, or of the pause container of a sandbox.
func (b *book) countRepair(container string) {
	for _, entries := range []map[string]entry{b.entries, b.pauses} {
		if e, isThere := entries[container]; isThere {
			if !e.wasRepairedLately() {
				e.repairs = 0
			}
			e.repairs, e.repaired = e.repairs+1, time.Now()
			entries[container] = e
		}
	}
}

// inUse has the devices of one resource that containers have.
func (b *book) inUse(resource string) map[string]bool {
	ids := map[string]bool{}
	for _, e := range b.entries {
		for _, id := range e.devices[resource] {
			ids[id] = true
		}
	}
	return ids
}

// difference between what is wanted and what nrd has: workloads to create or replace, and those that have no container. In the same
// order each time, so that the same failures are logged once.
func difference(wanted map[string]entry, found []nrd.Workload) (missing, extra []string) {
	left := maps.Clone(wanted)
	for _, workload := range found {
		if !strings.HasPrefix(workload.ID, nrd.ContainerPrefix) {
			continue
		}
		e, isWanted := wanted[workload.ID]
		if !isWanted { // another cgroup is that of the container before a restart
			extra = append(extra, workload.ID)
		} else if e.isKept() || e.isAt(workload) && hasSameCPUs(e.request.CPU, workload.CPURequest) {
			delete(left, workload.ID)
		}
	}
	for id, e := range left {
		if !e.isKept() {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing, extra
}
