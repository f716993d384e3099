package testservers

import (
	"net"
	"testing"

	"google.golang.org/grpc"
)

// ServeGRPC serves what register adds at a Unix socket, until the test ends.
func ServeGRPC(t *testing.T, socket string, register func(grpc.ServiceRegistrar)) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}
