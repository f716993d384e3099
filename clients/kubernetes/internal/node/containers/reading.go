package containers

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

// entryOf reads what a container requests; ask returns its devices.
func (p *Plugin) entryOf(ctx context.Context, pod *api.PodSandbox, container *api.Container,
	ask func(context.Context, identity) (map[string][]string, error)) (entry, error) {
	who := identityOf(pod, container)
	found, err := ask(ctx, who)
	if err != nil {
		return entry{}, err
	}
	wanted, err := annotations.ReadRMD(container.Name, pod.Annotations)
	if err != nil {
		return entry{}, err
	}
	if err := p.checkListed(ctx, pod, container.Name, found); err != nil {
		return entry{}, err
	}
	cgroup, err := cgroupPath(container.GetLinux().GetCgroupsPath())
	if err != nil {
		return entry{}, err
	}
	pools, err := p.pools(ctx, found)
	if err != nil {
		return entry{}, err
	}
	request, err := asked{identity: who, cgroup: cgroup, devices: found, wanted: wanted}.request(pools, p.base)
	if isRunning(container) {
		request.Owner.WithinSeconds = startedSeconds
	}
	return entry{identity: who, container: container.Id, sandbox: pod.Id, request: request, devices: found,
		cpus: cpusOf(container), runs: isRunning(container), created: createdAt(container)}, err
}

// unreadOf is a container whose request the next comparison reads.
func unreadOf(pod *api.PodSandbox, container *api.Container) entry {
	return entry{identity: identityOf(pod, container), container: container.Id, sandbox: pod.Id, devices: notedDevices(pod, container),
		cpus: cpusOf(container), runs: isRunning(container), created: createdAt(container), unread: &unread{pod, container}}
}

// createdAt is now for a container that the runtime is about to create.
func createdAt(container *api.Container) int64 {
	if container.CreatedAt == 0 {
		return time.Now().UnixNano()
	}
	return container.CreatedAt
}

// readNoted reads it from the annotations of the container alone.
func (p *Plugin) readNoted(ctx context.Context, pod *api.PodSandbox, container *api.Container) (entry, error) {
	noted := func(context.Context, identity) (map[string][]string, error) { return notedDevices(pod, container), nil }
	return p.entryOf(ctx, pod, container, noted)
}

// readAgain tries what could not be read when the plugin connected, because nrd was away for example. What cannot be
// read now either has been logged then.
func (p *Plugin) readAgain(ctx context.Context) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	kept := p.book.kept()
	p.leave()
	for _, each := range kept {
		found, err := p.readNoted(ctx, each.unread.pod, each.unread.container)
		if err != nil {
			continue
		}
		if err := p.enter(ctx); err != nil {
			return err
		}
		if e, isThere := p.book.entries[each.container]; isThere && e.isKept() {
			found.cpus, found.runs = e.cpus, e.runs
			p.book.put(found)
		}
		p.leave()
	}
	return nil
}

func identityOf(pod *api.PodSandbox, container *api.Container) identity {
	source := pod.Annotations["kubernetes.io/config.source"] // set by kubelet
	who := podIdentity(pod)
	who.container, who.isStatic = container.Name, source == "file" || source == "http"
	return who
}

// podIdentity is that of the pause container.
func podIdentity(pod *api.PodSandbox) identity {
	return identity{podUID: pod.Uid, namespace: pod.Namespace, pod: pod.Name}
}

// pool with what a device of it stands for.
type pool struct {
	nrd.Pool
	cores map[string]string // all CPUs of the core, by the number of one; only where a container gets whole cores
}

// asksForPools reports whether one of the devices is of a pool.
func (p *Plugin) asksForPools(found map[string][]string) bool {
	for resource := range found {
		if strings.HasPrefix(resource, p.base+"/") {
			return true
		}
	}
	return false
}

// pools by name, if one of the devices is of a pool.
func (p *Plugin) pools(ctx context.Context, found map[string][]string) (map[string]pool, error) {
	if !p.asksForPools(found) {
		return nil, nil
	}
	list, err := p.client.Pools(ctx)
	if err != nil {
		return nil, err
	}
	pools := map[string]pool{}
	for _, each := range list {
		known := pool{Pool: each}
		if each.Threads == "all" && len(found[p.base+"/"+each.Name]) > 0 {
			cpus, err := p.client.CPUs(ctx)
			if err != nil {
				return nil, err
			}
			known.cores = devices.CoresOf(cpus)
		}
		pools[each.Name] = known
	}
	return pools, nil
}

// notesOf a container are the annotations that kubelet gave it. CRI-O copies those of the pod into each container as well, which
// the pod's author writes; where kubelet has written the same key, its value counts.
func notesOf(pod *api.PodSandbox, container *api.Container) map[string]string {
	notes := map[string]string{}
	for key, text := range container.GetAnnotations() {
		ofAuthor, isThere := pod.GetAnnotations()[key]
		isCopy := isThere && ofAuthor == text
		if strings.HasPrefix(key, devices.AnnotationPrefix) && !isCopy {
			notes[key] = text
		}
	}
	return notes
}

// hasDevices reports whether kubelet gave the container devices of this client.
func hasDevices(pod *api.PodSandbox, container *api.Container) bool {
	return len(notesOf(pod, container)) > 0
}

// notedDevices are those of the annotations: what kubelet said when the container was created.
func notedDevices(pod *api.PodSandbox, container *api.Container) map[string][]string {
	found := map[string][]string{}
	for _, text := range notesOf(pod, container) {
		var note devices.Note
		if json.Unmarshal([]byte(text), &note) == nil {
			found[note.Resource] = note.IDs
		}
	}
	return found
}

// confirmed asks kubelet for the devices. Of an init container only the annotation tells them, which kubelet wrote as
// well: the pod's author cannot set it.
func (p *Plugin) confirmed(pod *api.PodSandbox, container *api.Container) func(context.Context, identity) (map[string][]string, error) {
	return func(ctx context.Context, who identity) (map[string][]string, error) {
		found, err := p.kubelet.Devices(ctx, who)
		if err == nil && found == nil {
			found = notedDevices(pod, container)
		}
		return found, err
	}
}
