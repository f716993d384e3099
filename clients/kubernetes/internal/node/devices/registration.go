package devices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
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

// watchDeadline is the time after which a kubelet that does not watch the list is asked to again. One that was too busy to notice the
// end of the former program in time takes it for the end of the present one, and counts no devices any more. Tests shorten it.
var watchDeadline = 10 * time.Second

// mostSlug of a socket's name: the path of a socket has 107 bytes at most.
const mostSlug = 40

// socketIn kubelet's folder, another one each time. Kubelet 1.37 refuses a socket that comes again before it has noticed the end of
// the former registration, and from then on always, until it is restarted.
func socketIn(folder, slug string) string {
	return filepath.Join(folder, fmt.Sprintf("%s%s.%08x.sock", socketPrefix, slug[:min(len(slug), mostSlug)], rand.Uint32()))
}

const socketPrefix = "nrd-"

// Sockets of plugins in kubelet's folder, with the beginning of each one's slug.
func Sockets(folder string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, socketPrefix+"*.sock"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, path := range paths {
		slug := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), socketPrefix), ".sock")
		found[path] = strings.TrimSuffix(slug, filepath.Ext(slug))
	}
	return found, nil
}

// removeLeftovers of a program that was killed.
func removeLeftovers(folder string) error {
	sockets, err := Sockets(folder)
	failures := []error{err}
	for path := range sockets {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// Serve registers the plugin with kubelet, and again whenever kubelet has restarted, until the context ends.
// folder is kubelet's device-plugins folder.
func (p *Plugin) Serve(ctx context.Context, folder string) {
	kubeletSocket := filepath.Join(folder, "kubelet.sock")
	last := ""
	for {
		err := p.serveOnce(ctx, socketIn(folder, p.now().Slug), kubeletSocket)
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
	watched := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-served:
			return err
		case <-time.After(lookInterval):
		}
		if p.watchers.Load() > 0 {
			watched = time.Now()
		} else if time.Since(watched) > watchDeadline {
			return errors.New("kubelet does not watch the list")
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
