package preflight

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nrd.internal/kubernetes/internal/node/containers"
	"nrd.internal/kubernetes/internal/testservers"
)

// podless is a kubelet without pods. Its version decides what it says of one of them.
type podless struct {
	podresources.UnimplementedPodResourcesListerServer
	answer string
}

func (podless) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{}, nil
}

func (k podless) Get(ctx context.Context, request *podresources.GetPodResourcesRequest) (*podresources.GetPodResourcesResponse, error) {
	if k.answer == "" {
		return k.UnimplementedPodResourcesListerServer.Get(ctx, request)
	}
	return nil, errors.New(k.answer)
}

func TestCheckNamesAKubeletThatIsTooOld(t *testing.T) {
	t.Parallel()
	const missing = "missing kubelet                does not report the devices of a single container\n"
	for version, each := range map[string]struct {
		answer   string
		isTooOld bool
	}{
		"1.26": {"", true},
		"1.33": {"PodResources API Get method disabled", true},
		"1.34": {"pod  in namespace  not found", false},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			socket := containers.SocketOf(folder)
			if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
				t.Fatal(err)
			}
			testservers.ServeGRPC(t, socket, func(server grpc.ServiceRegistrar) {
				podresources.RegisterPodResourcesListerServer(server, podless{answer: each.answer})
			})
			var output bytes.Buffer
			_ = Run(t.Context(), Options{KubeletDir: folder}, &output) // there is no nrd
			if strings.Contains(output.String(), missing) != each.isTooOld {
				t.Errorf("kubelet %s:\n%s", version, &output)
			}
		})
	}
}
