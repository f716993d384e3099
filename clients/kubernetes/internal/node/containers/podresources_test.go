package containers

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nrd.internal/kubernetes/internal/testservers"
)

// podless is a kubelet without pods.
type podless struct {
	podresources.UnimplementedPodResourcesListerServer
}

func (podless) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{}, nil
}

func TestAKubeletThatWasAwayIsAskedSoonAfterItIsBack(t *testing.T) {
	t.Parallel()
	const away, soon = 3100 * time.Millisecond, 800 * time.Millisecond
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	k, err := NewKubelet(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for end := time.Now().Add(away); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := k.Pods(t.Context()); err == nil {
			t.Fatal("a kubelet that is away has answered")
		}
	}
	testservers.ServeGRPC(t, socket, func(server grpc.ServiceRegistrar) {
		podresources.RegisterPodResourcesListerServer(server, podless{})
	})
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if _, err = k.Pods(t.Context()); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v after it was away: %v", soon, err)
		}
	}
}
