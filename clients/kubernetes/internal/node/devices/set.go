package devices

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"nrd.internal/kubernetes/internal/nrd"
)

// refreshInterval is the time after which the lists follow a change at nrd that no event announced.
const refreshInterval = 5 * time.Second

// Set has the plugins of the node.
type Set struct {
	client  *nrd.Client
	inUse   func(resource string) map[string]bool
	ways    *Plugin
	refresh chan struct{}
}

// NewSet makes the plugins; inUse tells which devices of a resource containers have.
func NewSet(client *nrd.Client, gate Gate, inUse func(resource string) map[string]bool) *Set {
	return &Set{client: client, inUse: inUse, ways: NewPlugin(Ways{}, gate), refresh: make(chan struct{}, 1)}
}

// Refresh makes Run look at nrd soon. Never blocks.
func (s *Set) Refresh() {
	select {
	case s.refresh <- struct{}{}:
	default: // one is due anyway
	}
}

// Run registers first and fills in later: kubelet fails pods for good while a resource that they have is unknown.
func (s *Set) Run(ctx context.Context, kubeletDir string) error {
	failed := make(chan error, 1)
	go func() { failed <- s.ways.Serve(ctx, filepath.Join(kubeletDir, "device-plugins")) }()
	answers := true
	for {
		err := s.publish(ctx)
		if err != nil && answers && !errors.Is(err, context.Canceled) {
			slog.Warn("cannot learn the node's capacity; the lists stay as they are", "reason", err)
		}
		answers = err == nil
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-s.refresh:
		case <-time.After(refreshInterval):
		}
	}
}

func (s *Set) publish(ctx context.Context) error {
	node, err := s.client.Node(ctx)
	if err != nil {
		return err
	}
	s.ways.Publish(WaysList(node, s.inUse(WaysName)))
	return nil
}
