package containers

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

// fakeNRD answers on a Unix socket as far as this package asks.
type fakeNRD struct {
	mutex     sync.Mutex
	workloads map[string]nrd.Workload
	requests  map[string]nrd.Request // the last of each workload
	node      nrd.Node
	pools     []nrd.Pool
	isAway    bool // answers 503
}

func newFakeNRD(t *testing.T, ids ...string) (*fakeNRD, *nrd.Client) {
	t.Helper()
	fake := &fakeNRD{workloads: map[string]nrd.Workload{}, requests: map[string]nrd.Request{}}
	for _, id := range ids {
		fake.workloads[id] = nrd.Workload{ID: id}
	}
	socket := filepath.Join(t.TempDir(), "nrd.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: fake}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return fake, nrd.New(socket)
}

func (f *fakeNRD) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	id, isOne := strings.CutPrefix(request.URL.Path, "/v1/workloads/")
	var content any
	switch {
	case f.isAway:
		answer.WriteHeader(http.StatusServiceUnavailable)
	case isOne && request.Method == http.MethodPut:
		content = f.put(id, request)
	case isOne && request.Method == http.MethodDelete:
		delete(f.workloads, id)
	case request.URL.Path == "/v1/workloads":
		list := []nrd.Workload{}
		for _, workload := range f.workloads {
			list = append(list, workload)
		}
		content = list
	case request.URL.Path == "/v1/node":
		content = f.node
	case request.URL.Path == "/v1/cpus/pools":
		content = f.pools
	default:
		answer.WriteHeader(http.StatusNotFound)
	}
	if content != nil {
		json.NewEncoder(answer).Encode(content)
	}
}

func (f *fakeNRD) put(id string, request *http.Request) nrd.Workload {
	var wanted nrd.Request
	json.NewDecoder(request.Body).Decode(&wanted)
	workload := nrd.Workload{ID: id, Cgroup: wanted.Cgroup, Labels: wanted.Labels, CPURequest: wanted.CPU}
	for _, request := range wanted.CPU {
		for _, pool := range f.pools {
			if pool.Name == request.Pool {
				workload.CPU = append(workload.CPU, nrd.CPUGrant{Pool: pool.Name, CPUs: pool.CPUs})
			}
		}
	}
	f.workloads[id], f.requests[id] = workload, wanted
	return workload
}

func (f *fakeNRD) setAway(isAway bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.isAway = isAway
}

func (f *fakeNRD) has(id string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	_, found := f.workloads[id]
	return found
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
