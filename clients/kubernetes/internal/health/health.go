// Package health serves /healthz, /readyz and /metrics of both roles.
package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers /healthz while the program runs, /readyz while ready is nil, and /metrics, until the context ends. An
// empty address serves nothing.
func Serve(ctx context.Context, address string, ready func(context.Context) error, metrics *Metrics) error {
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
		if err := ready(request.Context()); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(answer, "ok")
	})
	routes.HandleFunc("GET /metrics", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		metrics.write(answer, ready(request.Context()) == nil)
	})
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}
