package containers

import (
	"context"
	"strings"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/nrd"
)

// isListed reports whether CPU Pooler's annotation of the pod may be about this container.
func (p *Plugin) isListed(pod *api.PodSandbox) bool {
	_, isThere := pod.GetAnnotations()[p.base+"/cpus"]
	return isThere && p.hasPools
}

// checkListed refuses a container whose part of CPU Pooler's annotation does not match what kubelet gave it. The
// operator's webhook has refused the pod before, with the same words, unless it did not see the pod. Whether all
// containers that the annotation names are there is known to the webhook alone.
func (p *Plugin) checkListed(ctx context.Context, pod *api.PodSandbox, container string, devices map[string][]string) error {
	if !p.isListed(pod) {
		return nil
	}
	key := p.base + "/cpus"
	all, err := annotations.ReadCPUs(key, pod.GetAnnotations()[key])
	if err != nil {
		return err
	}
	listed, isListed := annotations.Find(all, container)
	if !isListed {
		return nil
	}
	pools, err := p.client.Pools(ctx)
	if err != nil {
		return err
	}
	requested := map[string]int64{}
	for resource, ids := range devices {
		if name, isPool := strings.CutPrefix(resource, p.base+"/"); isPool {
			requested[name] = int64(len(ids))
		}
	}
	return listed.CheckRequests(p.base, requested, annotatedPools(pools))
}

func annotatedPools(list []nrd.Pool) annotations.Pools {
	pools := annotations.Pools{}
	for _, each := range list {
		pools.Add(each.Name, annotations.Pool{IsExclusive: each.IsExclusive()})
	}
	return pools
}
