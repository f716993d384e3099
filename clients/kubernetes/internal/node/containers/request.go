package containers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

// graceSeconds is how long nrd keeps a grant without a process, if this client cannot delete it. The image has been
// pulled before the container is created, so this is the runtime's time alone.
const graceSeconds = 300

// identity of a container, the same over its restarts.
type identity struct {
	podUID, namespace, pod, container string
	isStatic                          bool
}

// workloadID is unique on the node: the uid of a pod is never used again.
func (i identity) workloadID() string {
	if i.isPause() {
		return nrd.ContainerPrefix + i.podUID
	}
	return nrd.ContainerPrefix + i.podUID + "." + i.container
}

// isPause reports whether it is the pod's own container, which has no name.
func (i identity) isPause() bool { return i.container == "" }

// asked is what a container was given by kubelet and what its pod's annotations want in addition.
type asked struct {
	identity
	cgroup  string              // path below the mount of the hierarchy
	devices map[string][]string // ids by resource
	wanted  annotations.RMD
}

// request is one request for all of it, so that nrd grants all or nothing.
func (a asked) request(pools map[string]pool, base string) (nrd.Request, error) {
	request := nrd.Request{
		Cgroup: a.cgroup,
		Owner:  &nrd.Owner{Cgroup: true, WithinSeconds: graceSeconds},
		Labels: labelsOf(a.identity),
		Policy: a.wanted.Policy,
	}
	request.RDT = a.rdt()
	if a.wanted.Ratio != 0 || a.wanted.Monitoring != "" {
		request.Plugins = &nrd.Plugins{PState: &nrd.PState{Ratio: a.wanted.Ratio, Monitoring: a.wanted.Monitoring}}
	}
	if len(a.devices[devices.OnloadName]) > 0 {
		request.Onload = &nrd.OnloadRequest{}
	}
	var err error
	request.CPU, err = a.cpus(pools, base)
	return request, err
}

func (a asked) rdt() *nrd.RDT {
	var rdt nrd.RDT
	if ways := int64(len(a.devices[devices.WaysName])); ways > 0 {
		rdt.Cache = &nrd.Cache{Max: ways, Min: ways}
		if a.wanted.CacheMin != nil {
			rdt.Cache.Min = *a.wanted.CacheMin
		}
	}
	if a.wanted.MBA != (nrd.MBA{}) {
		rdt.MBA = &a.wanted.MBA // nrd refuses it without ways, with its own words
	}
	if rdt == (nrd.RDT{}) {
		return nil
	}
	return &rdt
}

// cpus asks each pool for what kubelet chose: of an exclusive pool the ids are CPUs, of a shared one only their number
// counts, in thousandths of a CPU. The runtime writes the cpuset, from nrd's answer.
func (a asked) cpus(pools map[string]pool, base string) ([]nrd.CPURequest, error) {
	var requests []nrd.CPURequest
	for _, resource := range slices.Sorted(maps.Keys(a.devices)) {
		name, isPool := strings.CutPrefix(resource, base+"/")
		if !isPool {
			continue
		}
		pool, found := pools[name]
		if !found {
			return nil, fmt.Errorf("nrd has no CPU pool %q now; it was there when the pod was placed", name)
		}
		request := nrd.CPURequest{Pool: name}
		if !pool.IsExclusive() {
			request.RequestMilli = len(a.devices[resource])
		} else if list, err := devices.CPUsOf(a.devices[resource], pool.cores); err == nil {
			request.CPUs = list
		} else {
			return nil, fmt.Errorf("device of %s: %w", resource, err)
		}
		requests = append(requests, request)
	}
	if len(requests) > 0 {
		requests[0].Enforce = "runtime" // counts for all of them
	}
	return requests, nil
}

// labelsOf make a workload readable for people on the node: nrdctl workload list --label pod=feed.
func labelsOf(i identity) map[string]string {
	labels := map[string]string{"pod": labelValue(i.pod), "namespace": labelValue(i.namespace)}
	if !i.isPause() {
		labels["container"] = labelValue(i.container)
	}
	return labels
}

// mostLabel is nrd's limit of a value; names of pods have up to 253 characters.
const mostLabel = 63

func labelValue(name string) string {
	if len(name) <= mostLabel {
		return name
	}
	return strings.TrimRight(name[:mostLabel], "-_.")
}

// cgroupPath is the path of a container's cgroup, from what the runtime writes into the container's specification:
// the path itself with the driver cgroupfs, "slice:prefix:name" with the driver systemd.
func cgroupPath(specified string) (string, error) {
	if strings.HasPrefix(specified, "/") {
		return specified, nil
	}
	parts := strings.Split(specified, ":")
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return "", fmt.Errorf("cannot read the cgroup %s of the container", strconv.Quote(specified))
	}
	slice, err := slicePath(parts[0])
	if err != nil {
		return "", err
	}
	name := parts[2]
	if !strings.HasSuffix(name, ".slice") {
		name += ".scope"
		if parts[1] != "" {
			name = parts[1] + "-" + name
		}
	}
	return slice + "/" + name, nil
}

// slicePath expands "a-b.slice" to "/a.slice/a-b.slice", as systemd nests slices.
func slicePath(slice string) (string, error) {
	name, isSlice := strings.CutSuffix(slice, ".slice")
	if !isSlice || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q is not a slice of systemd", slice)
	}
	var path, prefix strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part == "" {
			return "", fmt.Errorf("%q is not a slice of systemd", slice)
		}
		if prefix.Len() > 0 {
			prefix.WriteString("-")
		}
		prefix.WriteString(part)
		path.WriteString("/" + prefix.String() + ".slice")
	}
	return path.String(), nil
}
