package devices

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/testservers"
)

// registrations counts them, as kubelet's socket does.
type registrations struct {
	kubelet.UnimplementedRegistrationServer
	sockets chan string
}

func (r registrations) Register(_ context.Context, request *kubelet.RegisterRequest) (*kubelet.Empty, error) {
	r.sockets <- request.Endpoint
	return &kubelet.Empty{}, nil
}

// watch the plugin's list until the context ends, after its first answer.
func watch(ctx context.Context, t *testing.T, socket string) {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := kubelet.NewDevicePluginClient(connection).ListAndWatch(ctx, &kubelet.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = connection.Close() })
}

func TestAKubeletThatStopsWatchingIsRegisteredWithAgain(t *testing.T) {
	watchDeadline = time.Second
	folder := t.TempDir()
	known := registrations{sockets: make(chan string, 10)}
	testservers.ServeGRPC(t, filepath.Join(folder, "kubelet.sock"), func(server grpc.ServiceRegistrar) {
		kubelet.RegisterRegistrationServer(server, known)
	})
	go NewPlugin(Ways, nil).Serve(t.Context(), folder)

	first := <-known.sockets
	socket := filepath.Join(folder, first)
	watching, hangUp := context.WithCancel(t.Context())
	watch(watching, t, socket)
	select {
	case <-known.sockets:
		t.Error("registered again although kubelet watches")
	case <-time.After(watchDeadline + 2*lookInterval):
	}
	hangUp()
	select {
	case again := <-known.sockets:
		if again == first {
			t.Error("kubelet refuses the same socket")
		}
	case <-time.After(watchDeadline + 4*lookInterval):
		t.Error("not registered again")
	}
}
