package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// serveHealth answers /healthz while the program runs and /readyz while containers with devices can start. An empty
// address serves nothing.
func serveHealth(ctx context.Context, address string, gate func(context.Context) error) error {
	if address == "" {
		<-ctx.Done()
		return ctx.Err()
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--health: %w", err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, "ok") })
	routes.HandleFunc("GET /readyz", func(answer http.ResponseWriter, request *http.Request) {
		if err := gate(request.Context()); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(answer, "ok")
	})
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}
