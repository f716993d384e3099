package containers

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/net/multiplex"
	"github.com/containerd/ttrpc"

	"nrd.internal/kubernetes/internal/nrd"
)

// runtimeEnd is the end of the container runtime of one connection.
type runtimeEnd struct {
	connection net.Conn
	registered chan struct{}
	plugin     api.PluginService
}

func (r *runtimeEnd) RegisterPlugin(context.Context, *api.RegisterPluginRequest) (*api.Empty, error) {
	close(r.registered)
	return &api.Empty{}, nil
}

func (r *runtimeEnd) UpdateContainers(context.Context, *api.UpdateContainersRequest) (*api.UpdateContainersResponse, error) {
	return &api.UpdateContainersResponse{}, nil
}

// listening is a runtime to which the plugin connects.
func listening(t *testing.T) (net.Listener, *Plugin) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "nri.sock"))
	if err != nil {
		t.Fatal(err)
	}
	p := connectedPlugin(nrd.New("/nowhere"))
	p.connected.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.Run(ctx, listener.Addr().String())
	}()
	t.Cleanup(func() {
		cancel()
		listener.Close()
		<-ended
	})
	return listener, p
}

// accept a connection of the plugin, which has registered by then.
func accept(t *testing.T, listener net.Listener) *runtimeEnd {
	t.Helper()
	_ = listener.(*net.UnixListener).SetDeadline(time.Now().Add(10 * time.Second))
	connection, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := &runtimeEnd{connection: connection, registered: make(chan struct{})}
	trunk := multiplex.Multiplex(connection)
	services, err := trunk.Listen(multiplex.RuntimeServiceConn)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ttrpc.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	api.RegisterRuntimeService(server, r)
	go func() { _ = server.Serve(context.Background(), services) }()
	calls, err := trunk.Open(multiplex.PluginServiceConn)
	if err != nil {
		t.Fatal(err)
	}
	r.plugin = api.NewPluginClient(ttrpc.NewClient(calls))
	t.Cleanup(func() { trunk.Close() })
	select {
	case <-r.registered:
	case <-time.After(10 * time.Second):
		t.Fatal("the plugin does not register")
	}
	return r
}

// configure and synchronize, after which the runtime has the plugin.
func (r *runtimeEnd) begin(t *testing.T) *api.ConfigureResponse {
	t.Helper()
	configured, err := r.plugin.Configure(t.Context(), &api.ConfigureRequest{RuntimeName: "test", RuntimeVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.plugin.Synchronize(t.Context(), &api.SynchronizeRequest{}); err != nil {
		t.Fatal(err)
	}
	return configured
}

func TestARuntimeThatEndsBeforeItHasConfiguredIsConnectedAgain(t *testing.T) {
	listener, p := listening(t)
	first := accept(t, listener)
	time.Sleep(100 * time.Millisecond) // the plugin has the answer to its registration
	first.connection.Close()
	accept(t, listener).begin(t)
	if !p.Connected() {
		t.Error("the plugin is not connected to the next runtime")
	}
}

func TestARequestThatIsNotAnsweredInTimeFails(t *testing.T) {
	listener, _ := listening(t)
	if policy := accept(t, listener).begin(t).FailurePolicy; !policy.GetFailRequest() || policy.GetKeepConnected() {
		t.Errorf("%v, want the request to fail and the plugin to be disconnected", policy)
	}
}

func TestAContainerThatIsCreatedDuringAComparisonIsNotGrantedAgain(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "nrd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	p := connectedPlugin(nrd.New(listener.Addr().String()))
	grants := 0
	answers := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method == http.MethodPut:
			grants++
		case request.URL.Path == "/v1/workloads": // a list of before
			p.await()
			p.book.put(entryFor("pod", "1", "/1"))
			p.leave()
			_, _ = answer.Write([]byte("[]"))
			return
		}
		_, _ = answer.Write([]byte("{}"))
	})
	server := httptest.Server{Listener: listener, Config: &http.Server{Handler: answers}}
	server.Start()
	t.Cleanup(server.Close)
	for comparison, want := range []int{0, 1} {
		if err := p.compareOnce(t.Context()); err != nil || grants != want {
			t.Errorf("comparison %d: %d grants, %v, want %d", comparison, grants, err, want)
		}
	}
}
