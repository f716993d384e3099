// Package devices advertises what nrd has for Kubernetes to kubelet, one device plugin a resource.
//
// Kubelet counts devices and chooses their ids; nrd grants when the container is created (package containers). So a
// plugin here decides nothing: Allocate never refuses, because a refusal there fails the pod for good. It notes the ids
// for the container, and PreStartContainer refuses while a grant would not be requested, because kubelet tries again
// after that.
package devices

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// AnnotationPrefix begins the annotation that Allocate gives a container. Kubelet writes it and the runtime hands it
// on. CRI-O hands the same key on a pod on, too, so that a value which is the pod's does not count. There is one key for each
// resource, because kubelet keeps one value of a key that two plugins set.
const AnnotationPrefix = "nrd.internal/devices."

// mostIgnored of one pod are reported: it may have thousands of annotations.
const mostIgnored = 10

// Ignored lists, in order, the annotations of a pod that look like those of containers.
func Ignored(ofPod map[string]string) []string {
	var found []string
	for key := range ofPod {
		if strings.HasPrefix(key, AnnotationPrefix) {
			found = append(found, "annotation "+key+" has no effect: kubelet tells the devices of containers")
		}
	}
	slices.Sort(found)
	return found[:min(len(found), mostIgnored)]
}

// checkDeadline of PreStartContainer, which kubelet repeats.
const checkDeadline = 1500 * time.Millisecond

// Resource is what one plugin advertises.
type Resource struct {
	Name string // of the extended resource, "intel.com/l3_cache_ways"
	Slug string // names its socket and its annotation; letters, digits, "-", "_" and "."
	// Environment of a container that was given these devices; nil: it comes with nrd's answer, which is right after a change
	// of a pool, and knows the container's own LD_PRELOAD.
	Environment func(ids []string) map[string]string
	// Preferred chooses count of the available ids, all of required among them; no ids: no preference. Kubelet fails a pod for
	// good if it cannot ask, so that it does not ask where this is nil.
	Preferred func(ctx context.Context, available, required []string, count int) []string
}

// Gate is nil if a container that is created now is granted what it requested.
type Gate func(context.Context) error

// Plugin serves one resource to kubelet. Its methods are called by gRPC on any goroutine.
type Plugin struct {
	kubelet.UnimplementedDevicePluginServer
	gate     Gate
	watchers atomic.Int32 // of the list

	mutex    sync.Mutex
	resource Resource
	list     *kubelet.ListAndWatchResponse
	changed  chan struct{} // closed when list is replaced
}

// NewPlugin has no devices until Publish.
func NewPlugin(resource Resource, gate Gate) *Plugin {
	return &Plugin{resource: resource, gate: gate, list: &kubelet.ListAndWatchResponse{}, changed: make(chan struct{})}
}

// Become another resource of the same name, of which kubelet learns by a new registration.
func (p *Plugin) Become(resource Resource) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.resource = resource
}

// now it is this resource.
func (p *Plugin) now() Resource {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.resource
}

// Publish sends the list to kubelet if it differs from the last one.
func (p *Plugin) Publish(list []*kubelet.Device) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if slices.EqualFunc(p.list.Devices, list, isSame) {
		return
	}
	p.list = &kubelet.ListAndWatchResponse{Devices: list}
	close(p.changed)
	p.changed = make(chan struct{})
}

// isSame compares what changes: the NUMA node of a device follows from its id.
func isSame(a, b *kubelet.Device) bool { return a.ID == b.ID && a.Health == b.Health }

func (p *Plugin) current() (*kubelet.ListAndWatchResponse, <-chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.list, p.changed
}

// GetDevicePluginOptions asks kubelet for its optional calls.
func (p *Plugin) GetDevicePluginOptions(context.Context, *kubelet.Empty) (*kubelet.DevicePluginOptions, error) {
	return optionsOf(p.now()), nil
}

func optionsOf(resource Resource) *kubelet.DevicePluginOptions {
	return &kubelet.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: resource.Preferred != nil}
}

// ListAndWatch sends the list at once and after each change, until kubelet hangs up.
func (p *Plugin) ListAndWatch(_ *kubelet.Empty, stream grpc.ServerStreamingServer[kubelet.ListAndWatchResponse]) error {
	p.watchers.Add(1)
	defer p.watchers.Add(-1)
	for {
		list, changed := p.current()
		if err := stream.Send(list); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// GetPreferredAllocation lets the resource choose; without a preference kubelet does.
func (p *Plugin) GetPreferredAllocation(ctx context.Context, request *kubelet.PreferredAllocationRequest) (*kubelet.PreferredAllocationResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkDeadline)
	defer cancel()
	answer, resource := &kubelet.PreferredAllocationResponse{}, p.now()
	for _, each := range request.ContainerRequests {
		var chosen []string
		if resource.Preferred != nil { // kubelet learns of a change a moment later
			chosen = resource.Preferred(ctx, each.AvailableDeviceIDs, each.MustIncludeDeviceIDs, int(each.AllocationSize))
		}
		answer.ContainerResponses = append(answer.ContainerResponses,
			&kubelet.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return answer, nil
}

// Allocate notes the ids for package containers.
func (p *Plugin) Allocate(_ context.Context, request *kubelet.AllocateRequest) (*kubelet.AllocateResponse, error) {
	answer, resource := &kubelet.AllocateResponse{}, p.now()
	for _, each := range request.ContainerRequests {
		note, err := json.Marshal(Note{Resource: resource.Name, IDs: each.DevicesIds})
		if err != nil {
			return nil, err
		}
		allocated := &kubelet.ContainerAllocateResponse{Annotations: map[string]string{AnnotationPrefix + resource.Slug: string(note)}}
		if resource.Environment != nil {
			allocated.Envs = resource.Environment(each.DevicesIds)
		}
		answer.ContainerResponses = append(answer.ContainerResponses, allocated)
	}
	return answer, nil
}

// Note is the value of the annotation.
type Note struct {
	Resource string   `json:"resource"`
	IDs      []string `json:"ids"`
}

// PreStartContainer refuses while a created container would not be granted its devices. Kubelet calls it before each
// creation, also after a crash of the container, shows the error in the pod's events and tries again.
func (p *Plugin) PreStartContainer(ctx context.Context, _ *kubelet.PreStartContainerRequest) (*kubelet.PreStartContainerResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkDeadline)
	defer cancel()
	if err := p.gate(ctx); err != nil {
		return nil, err
	}
	return &kubelet.PreStartContainerResponse{}, nil
}
