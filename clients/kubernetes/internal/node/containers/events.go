package containers

import (
	"slices"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/kube"
)

// notOfAuthor are variables whose value does not tell that the pod's author is overruled: the container's own libraries
// stay behind ours, and the webhook sets the pools.
var notOfAuthor = []string{"LD_PRELOAD", "CPU_POOLS"}

// tellReplaced tells the pod's author which variables the node has replaced.
func (p *Plugin) tellReplaced(pod *api.PodSandbox, container *api.Container, change *api.ContainerAdjustment) {
	for _, each := range change.GetEnv() {
		asked := variable(container.GetEnv(), each.Key)
		if asked != "" && asked != each.Value && !slices.Contains(notOfAuthor, each.Key) {
			p.tellIgnored(identityOf(pod, container), "container "+container.Name+": the value of "+each.Key+" has no effect: the node sets it")
		}
	}
}

func (p *Plugin) tellIgnored(who identity, note string) {
	about := kube.Object{APIVersion: "v1", Kind: "Pod", Namespace: who.namespace, Name: who.pod, UID: who.podUID}
	p.events.Tell(about, kube.Warning, "NoEffect", "Create", note)
}
