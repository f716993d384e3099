package devices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	// lookInterval is the time after which a restart of kubelet is noticed: it removes all sockets in its folder.
	lookInterval = 500 * time.Millisecond
	// registerDeadline of one try; the next one follows after lookInterval.
	registerDeadline = 5 * time.Second
)

// Serve registers the plugin with kubelet, and again whenever kubelet has restarted, until the context ends.
// folder is kubelet's device-plugins folder.
func (p *Plugin) Serve(ctx context.Context, folder string) {
	socket := filepath.Join(folder, "nrd-"+p.now().Slug+".sock")
	kubeletSocket := filepath.Join(folder, "kubelet.sock")
	last := ""
	for {
		err := p.serveOnce(ctx, socket, kubeletSocket)
		if ctx.Err() != nil {
			return
		}
		if text := fmt.Sprint(err); text != last { // one line for a kubelet that is away for long
			slog.Info("registering with kubelet again as soon as possible", "resource", p.now().Name, "reason", err)
			last = text
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookInterval):
		}
	}
}

// serveOnce returns when the socket is gone, kubelet's is another one, or the resource has another kind.
func (p *Plugin) serveOnce(ctx context.Context, socket, kubeletSocket string) error {
	resource := p.now()
	before, err := os.Stat(kubeletSocket)
	if err != nil {
		return err
	}
	// A socket that a killed process left behind cannot be bound again.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	kubelet.RegisterDevicePluginServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer server.Stop() // closes the listener, which removes the socket
	if err := register(ctx, resource, socket, kubeletSocket); err != nil {
		return err
	}
	slog.Info("registered with kubelet", "resource", resource.Name)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-served:
			return err
		case <-time.After(lookInterval):
		}
		if (p.now().Preferred == nil) != (resource.Preferred == nil) {
			return errors.New("the pool has another kind now")
		}
		if _, err := os.Stat(socket); err != nil {
			return fmt.Errorf("kubelet has restarted: %w", err)
		}
		if now, err := os.Stat(kubeletSocket); err == nil && !os.SameFile(before, now) {
			return errors.New("kubelet has restarted")
		}
	}
}

func register(ctx context.Context, resource Resource, socket, kubeletSocket string) error {
	ctx, cancel := context.WithTimeout(ctx, registerDeadline)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+kubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = kubelet.NewRegistrationClient(connection).Register(ctx, &kubelet.RegisterRequest{
		Version: kubelet.Version, Endpoint: filepath.Base(socket), ResourceName: resource.Name, Options: optionsOf(resource),
	})
	return err
}
