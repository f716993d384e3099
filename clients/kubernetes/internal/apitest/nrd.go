package apitest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nrd.internal/kubernetes/internal/nrd"
)

// mostStart is the time until nrd answers, on a busy machine.
const mostStart = 30 * time.Second

// NRD that runs on a simulated node of two sockets with 16 CPUs and 11 ways.
type NRD struct {
	*nrd.Client
	t      *testing.T
	folder string
}

// StartNRD with this in addition to a reserve of ways and a socket for the cluster. It ends with the test.
func StartNRD(t *testing.T, config string) *NRD {
	t.Helper()
	program, node := os.Getenv("NRD"), os.Getenv("NRD_SIMNODE")
	if program == "" || node == "" {
		t.Skip("needs the nrd of clients/kubernetes/test")
	}
	n := &NRD{t: t, folder: t.TempDir()}
	n.Client = nrd.New(n.path("kubernetes.sock"))
	n.write(config)
	command := exec.Command(node, "--control", n.path("control"), "--sockets", "2", "--cpus", "16", "--ways", "11", "--closids", "16", "--min-cbm-bits", "1",
		"--", program, "--config", n.path("nrd.toml"), "--state-dir", n.path("state"))
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(os.Interrupt)
		command.Wait()
	})
	for end := time.Now().Add(mostStart); ; time.Sleep(20 * time.Millisecond) {
		if _, err := n.Node(t.Context()); err == nil {
			return n
		} else if time.Now().After(end) {
			t.Fatalf("nrd does not answer: %v\n%s", err, said.String())
		}
	}
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

// Reload takes this in place of the configuration that it was started with.
func (n *NRD) Reload(config string) {
	n.t.Helper()
	n.write(config)
	admin := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", n.path("nrd.sock"))
	}}}
	answer, err := admin.Post("http://nrd/v1/config/reload", "application/json", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		n.t.Fatalf("reload: %s", answer.Status)
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
	list, _, err := n.Workloads(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, workload := range list {
		if workload.ID == id {
			return &workload
		}
	}
	return nil
}
