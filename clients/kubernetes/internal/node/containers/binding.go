package containers

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"

	"nrd.internal/kubernetes/internal/nrd"
)

// processLabel has the first process of the container. It is there for people; and because the request of
// StartContainer differs by it from that of CreateContainer, nrd looks into the cgroup again before it answers.
const processLabel = "process"

// grant asks nrd before there is a process. The grant belongs to the cgroup, which nrd follows: processes that "kubectl
// exec" starts later are in the class, too, and the grant ends with the cgroup if this client is gone by then.
func (p *Plugin) grant(ctx context.Context, wanted entry) (nrd.Workload, error) {
	granted, err := p.client.Put(ctx, wanted.workloadID(), wanted.request)
	if !isWithoutCgroups(err) {
		return granted, err
	}
	if !p.byTask.Swap(true) {
		slog.Warn("nrd follows no cgroups on this node: grants are made when a container starts, and do not include what kubectl exec starts",
			"reason", err)
	}
	return nrd.Workload{ID: wanted.workloadID()}, nil
}

// bind puts the process into the class before it executes the program.
func (p *Plugin) bind(ctx context.Context, started entry, pid uint32) (entry, error) {
	process := strconv.FormatUint(uint64(pid), 10)
	request := started.request
	request.Labels = maps.Clone(request.Labels)
	request.Labels[processLabel] = process
	if p.byTask.Load() {
		request.Cgroup, request.Owner, request.TaskIDs = "", nil, []string{process}
	}
	started.request = request
	_, err := p.client.Put(ctx, started.workloadID(), request)
	return started, err
}

// isWithoutCgroups tells whether nrd cannot follow any cgroup on this node.
func isWithoutCgroups(err error) bool {
	var refusal *nrd.Refusal
	return errors.As(err, &refusal) && refusal.Status == http.StatusUnprocessableEntity && refusal.Field == "/cgroup"
}
