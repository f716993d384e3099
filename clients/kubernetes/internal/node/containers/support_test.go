package containers

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
	"nrd.internal/kubernetes/internal/testservers"
)

// startNRD has workloads with these ids.
func startNRD(t *testing.T, config string, ids ...string) *testservers.NRD {
	t.Helper()
	started := testservers.StartNRD(t, config)
	for position, id := range ids {
		started.Grant(id, 8+position)
	}
	return started
}

// Configuration of nrd: a default pool with CPUs 0-1, and others.
const (
	common = "[os]\ncpus = \"14-15\"\n[cpu]\ndefault_pool = \"common\"\n[[cpu.pools]]\nname = \"common\"\ncpus = \"0-1\"\nkind = \"shared\"\n"
	fast   = "[[cpu.pools]]\nname = \"fast\"\ncpus = \"4\"\nkind = \"exclusive\"\nthreads = \"any\"\n"
	other  = "[[cpu.pools]]\nname = \"other\"\ncpus = \"2-3\"\nkind = \"shared\"\n"
)

// compare once more where nrd takes longer than a repair may, as the plugin does a minute later.
func compare(t *testing.T, p *Plugin) error {
	t.Helper()
	var err error
	for range 10 {
		if err = p.compareOnce(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
}

// thisMachine is that of the node.
type thisMachine struct{}

func (thisMachine) Mismatch() error   { return nil }
func (thisMachine) IsConfirmed() bool { return true }

// unknownMachine is what there is while the API server is away.
type unknownMachine struct{ thisMachine }

func (unknownMachine) IsConfirmed() bool { return false }

// otherMachine is behind a wrong socket.
type otherMachine struct{ unknownMachine }

func (otherMachine) Mismatch() error { return errors.New("nrd's machine id is 2, that of node a is 1") }

// connectedPlugin hands out CPUs of pools, and has a connection to a runtime without containers.
func connectedPlugin(client *nrd.Client) *Plugin {
	p := NewPlugin(client, &Kubelet{lister: noContainers{}}, thisMachine{}, kube.NewEvents(nil, "node-a"), "nokia.k8s.io", true, &health.Metrics{})
	p.connected.Store(true)
	p.book.isTold = true
	connectTo(p, &fakeRuntime{cpus: map[string]string{}})
	return p
}

// noContainers is a kubelet that lists no container, as of init containers. Its CPU manager may place them on cpus.
type noContainers struct {
	podresources.PodResourcesListerClient
	cpus []int64
	err  error
}

func (k noContainers) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest, ...grpc.CallOption) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{CpuIds: k.cpus}, k.err
}

func (noContainers) Get(context.Context, *podresources.GetPodResourcesRequest, ...grpc.CallOption) (*podresources.GetPodResourcesResponse, error) {
	return &podresources.GetPodResourcesResponse{}, nil
}
