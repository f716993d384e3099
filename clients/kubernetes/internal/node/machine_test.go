package node

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"nrd.internal/kubernetes/internal/nrd"
)

// machineOf node "node-a", and the number of questions to the API server, which answers the latter ones if it is not away.
func machineOf(t *testing.T, isAway *atomic.Bool) (*machine, *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "nrd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := &http.Server{Handler: http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = answer.Write([]byte(`{"machine_id": "1", "version": "0.2.0"}`))
	})}
	go func() { _ = daemon.Serve(listener) }()
	t.Cleanup(func() { daemon.Close() })
	questions := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		questions.Add(1)
		answer.Header().Set("Content-Type", "application/json")
		if isAway.Load() {
			answer.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = answer.Write([]byte(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}, "status": {"nodeInfo": {"machineID": "1"}}}`))
	}))
	t.Cleanup(server.Close)
	api, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return newMachine(nrd.New(listener.Addr().String()), api, "node-a"), questions
}

func TestAnAPIServerThatIsAwayIsAskedOnceForAllThatWait(t *testing.T) {
	t.Parallel()
	var isAway atomic.Bool
	isAway.Store(true)
	m, questions := machineOf(t, &isAway)
	ctx, cancel := context.WithCancel(t.Context())
	var running, begun sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	for range 4 {
		begun.Add(1)
		running.Go(func() {
			_ = m.after(ctx, func(context.Context) error { begun.Done(); return nil })
		})
	}
	time.Sleep(2500 * time.Millisecond)
	if asked := questions.Load(); asked != 2 || m.IsConfirmed() {
		t.Errorf("%d questions in 2.5 s, want 2", asked)
	}
	isAway.Store(false)
	m.Wake()
	begun.Wait()
	if asked := questions.Load(); asked != 3 || !m.IsConfirmed() || m.Mismatch() != nil {
		t.Errorf("%d questions, %v, want 3 and no mismatch", asked, m.Mismatch())
	}
	cancel()
	running.Wait()
}

func TestTheLogHasTheVersionOfAnNRDThatAnswersOnce(t *testing.T) {
	var lines bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	defer slog.SetDefault(before)
	m, _ := machineOf(t, &atomic.Bool{})
	for _, former := range []string{"", "0.1.0"} {
		if former != "" {
			m.version.Store(former)
		}
		lines.Reset()
		for range 2 {
			if err := m.Answers(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if found := lines.String(); strings.Count(found, "\n") != 1 || !strings.Contains(found, "version=0.2.0") {
			t.Errorf("after %q: %s", former, found)
		}
	}
}
