package testservers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"nrd.internal/kubernetes/internal/nrd"
)

const (
	startTimeout = 30 * time.Second // until nrd answers, on a busy machine
	endTimeout   = 10 * time.Second
)

// NRD that runs on a simulated node of two sockets with 16 CPUs and 11 ways.
type NRD struct {
	*nrd.Client
	t      *testing.T
	folder string
}

// StartNRD with this configuration, a reserve of ways and a socket for the cluster. It ends with the test.
func StartNRD(t *testing.T, config string) *NRD {
	t.Helper()
	kubeconfigOf(t)                         // only where tests have servers
	folder, err := os.MkdirTemp("", "nrd-") // short: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	n := &NRD{t: t, folder: folder}
	n.Client = nrd.New(n.path("kubernetes.sock"))
	n.write(config)
	ended := n.run()
	for end := time.After(startTimeout); ; {
		_, err := n.Node(t.Context())
		if err == nil {
			return n
		}
		select {
		case err = <-ended:
		case <-end:
		case <-time.After(20 * time.Millisecond):
			continue
		}
		said, _ := os.ReadFile(n.path("log"))
		t.Fatalf("nrd does not answer: %v\n%s", err, said)
	}
}

// run the simulated node with nrd, until the test ends. The error is why it has ended before.
func (n *NRD) run() <-chan error {
	n.t.Helper()
	log, err := os.Create(n.path("log"))
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, os.Getenv("NRD_SIMNODE"), "--control", n.path("control"),
		"--sockets", "2", "--cpus", "16", "--ways", "11", "--closids", "16", "--min-cbm-bits", "1",
		"--", os.Getenv("NRD"), "--config", n.path("nrd.toml"), "--state-dir", n.path("state"))
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = endTimeout
	if err := command.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended, isOver := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(isOver)
		ended <- errors.Join(errors.New("it has ended"), command.Wait())
	}()
	n.t.Cleanup(func() {
		stop()
		<-isOver
		log.Close()
		os.RemoveAll(n.folder)
	})
	return ended
}

func (n *NRD) path(name string) string { return filepath.Join(n.folder, name) }

func (n *NRD) write(config string) {
	n.t.Helper()
	text := fmt.Sprintf("%s\n[reserve.kubernetes]\nways = 5\n[[server.sockets]]\npath = %q\nadmin = [\"root\"]\n"+
		"[[server.sockets]]\npath = %q\norigin = \"kubernetes\"\nallow = [\"workloads\", \"node\", \"onload.read\", \"onload.allocations\"]\n",
		config, n.path("nrd.sock"), n.path("kubernetes.sock"))
	if err := os.WriteFile(n.path("nrd.toml"), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// Reload makes nrd take this configuration.
func (n *NRD) Reload(config string) {
	n.t.Helper()
	n.write(config)
	said, err := exec.CommandContext(n.t.Context(), os.Getenv("NRDCTL"), "--socket", n.path("nrd.sock"), "reload").CombinedOutput()
	if err != nil {
		n.t.Fatalf("reload: %v: %s", err, said)
	}
}

// Grant one way to a workload on this CPU.
func (n *NRD) Grant(id string, cpu int) {
	n.t.Helper()
	if _, err := n.Put(n.t.Context(), id, nrd.Request{CoreIDs: []string{strconv.Itoa(cpu)}, RDT: &nrd.RDT{Cache: &nrd.Cache{Max: 1, Min: 1}}}); err != nil {
		n.t.Fatal(err)
	}
}

// Granted is the workload of this id, or nil.
func (n *NRD) Granted(id string) *nrd.Workload {
	n.t.Helper()
	list, err := n.Workloads(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	if found, isThere := nrd.ByID(list)[id]; isThere {
		return &found
	}
	return nil
}
