package containers

import (
	"context"
	"maps"
	"strconv"

	"nrd.internal/kubernetes/internal/nrd"
)

// processLabel has the first process of the container. It is there for people; and because the request of
// StartContainer differs by it from that of CreateContainer, nrd looks into the cgroup again before it answers.
const processLabel = "process"

// startedSeconds is how long nrd keeps the grant of a container that is started and has no process in its cgroup.
const startedSeconds = 10

// bind puts the process into the class before it executes the program. The grant belongs to the cgroup, which nrd
// follows: processes that "kubectl exec" starts later are in the class, too, and the grant ends with the cgroup if this
// client is gone by then.
func (p *Plugin) bind(ctx context.Context, started entry, pid uint32) (entry, error) {
	labels := map[string]string{}
	maps.Copy(labels, started.request.Labels)
	labels[processLabel] = strconv.FormatUint(uint64(pid), 10)
	started.request.Labels = labels
	started.request.Owner = &nrd.Owner{Cgroup: true, WithinSeconds: startedSeconds}
	_, err := p.client.Put(ctx, started.workloadID(), started.in(p.book.defaultPool).request)
	return started, err
}
