// Package operator is the role that runs in the cluster, in two replicas: the webhook, and on one of them the RmdConfig and the
// states of former nodes. It never talks to a node's nrd.
package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"

	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/operator/certificates"
	"nrd.internal/kubernetes/internal/operator/election"
	"nrd.internal/kubernetes/internal/operator/pools"
	"nrd.internal/kubernetes/internal/operator/rmdconfig"
	"nrd.internal/kubernetes/internal/operator/states"
	"nrd.internal/kubernetes/internal/operator/webhook"
	"nrd.internal/kubernetes/internal/parts"
)

// Names in deploy/.
const (
	namespace     = "nrd-system"
	lease         = "nrd-operator"
	configuration = "nrd-operator"
)

// Options of "nrd-kube operator".
type Options struct {
	Kubeconfig string
	Webhook    string // address
	CertDir    string // empty: makes its own certificate
	Health     string // address
	Rules      webhook.Rules
}

// certificate with which the webhook serves.
type certificate interface {
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Ready() error
	Run(context.Context) error
}

// Run serves until the context ends. It returns early only with an error.
func Run(ctx context.Context, options Options) error {
	api, err := kube.Dynamic(options.Kubeconfig)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	replica := host + "_" + rand.String(8)
	var serving certificate = certificates.NewOwn(api, configuration, replica)
	if options.CertDir != "" {
		if serving, err = certificates.NewFiles(options.CertDir); err != nil {
			return err
		}
	}
	known, err := pools.New(api)
	if err != nil {
		return err
	}
	metrics := &health.Metrics{}
	handler := webhook.NewHandler(options.Rules, known.Pools, metrics)
	ready := func(context.Context) error {
		if !known.IsReady() {
			return errors.New("the RmdNodeStates are not known yet")
		}
		return serving.Ready()
	}
	return parts.Run(ctx,
		serving.Run,
		known.Run,
		func(ctx context.Context) error { return serve(ctx, options.Webhook, serving, ready, handler) },
		func(ctx context.Context) error {
			selector, former := rmdconfig.New(api, namespace, known.Nodes), states.New(api, known.Nodes)
			return election.NewCandidate(api, namespace, lease, replica).Run(ctx, func(ctx context.Context) error {
				return parts.Run(ctx, selector.Run, former.Run)
			})
		},
		func(ctx context.Context) error { return health.Serve(ctx, options.Health, ready, metrics) },
	)
}

const (
	// leave is the time in which nodes and API servers learn that the pod ends; until then reviews come.
	leave = 3 * time.Second
	// drain is the time for reviews that have begun then.
	drain = 5 * time.Second
)

// serve answers reviews once the pools are known. Before that a connection fails, and the API server refuses the pod.
func serve(ctx context.Context, address string, serving certificate, ready func(context.Context) error, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--webhook: %w", err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST "+webhook.Path, func(answer http.ResponseWriter, request *http.Request) {
		if err := ready(request.Context()); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(answer, request)
	})
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 16 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: serving.Certificate}}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		time.Sleep(leave)
		late, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		_ = server.Shutdown(late)
	})
	err = server.ServeTLS(listener, "", "")
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return ctx.Err()
}
