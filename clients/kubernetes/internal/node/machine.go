package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

// asking: pauses between requests for the machine's id, until both have answered.
var asking = kube.Pauses{Usual: time.Minute, AfterFailure: 2 * time.Second}

// firstDeadline of the first question, for which everything else waits.
const firstDeadline = 2 * time.Second

// machine compares the machine of nrd with that of the Node object: a wrong socket or a wrong --node would put
// containers into classes of another machine's books.
type machine struct {
	client *nrd.Client
	api    dynamic.Interface
	node   string
	wake   kube.Signal
	// mismatch is nil unless both are known and differ.
	mismatch  atomic.Pointer[error]
	confirmed chan struct{} // closed once they are known to be one machine
	version   atomic.Value  // of nrd, as it last answered
}

func newMachine(client *nrd.Client, api dynamic.Interface, node string) *machine {
	return &machine{client: client, api: api, node: node, wake: kube.NewSignal(), confirmed: make(chan struct{})}
}

// Mismatch is an error once both machines are known and differ.
func (m *machine) Mismatch() error {
	if found := m.mismatch.Load(); found != nil {
		return *found
	}
	return nil
}

// Answers is an error unless nrd answers. The log has each version of it that does.
func (m *machine) Answers(ctx context.Context) error {
	health, err := m.client.Health(ctx)
	if err == nil && m.version.Swap(health.Version) != health.Version {
		slog.Info("nrd answers", "version", health.Version)
	}
	return err
}

// IsConfirmed reports whether both are known to be one machine.
func (m *machine) IsConfirmed() bool {
	select {
	case <-m.confirmed:
		return true
	default:
		return false
	}
}

// Wake has it ask soon, such as when nrd answers again. Never blocks.
func (m *machine) Wake() { m.wake.Raise() }

// Run asks until both are known to be one machine, and returns when the context ends.
func (m *machine) Run(ctx context.Context) error {
	return kube.Repeat(ctx, m.wake, asking, "cannot tell whether nrd is this node's", m.ask)
}

// askFirst asks before anything is compared or offered. Without an answer those begin all the same: while the API server is
// away, containers of before have to be repaired.
func (m *machine) askFirst(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstDeadline)
	defer cancel()
	_ = m.ask(ctx) // Run asks again
}

// after runs what writes to the API server, once both are known to be one machine. It waits as long as they are not.
func (m *machine) after(ctx context.Context, run func(context.Context) error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-m.confirmed:
		return run(ctx)
	}
}

// ask both, unless they are known to be one machine. One goroutine at a time.
func (m *machine) ask(ctx context.Context) error {
	if m.IsConfirmed() {
		return nil
	}
	node, err := m.client.Node(ctx)
	if err != nil {
		return err
	}
	object, err := m.api.Resource(kube.Nodes).Get(ctx, m.node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read node %s from the API server: %w", m.node, err)
	}
	id, _, _ := unstructured.NestedString(object.Object, "status", "nodeInfo", "machineID")
	// Without an id on either side there is nothing to compare.
	if id != "" && node.MachineID != "" && id != node.MachineID {
		err := fmt.Errorf("nrd's machine id is %s, that of node %s is %s: --nrd-socket or --node is wrong", node.MachineID, m.node, id)
		m.mismatch.Store(&err)
		return err
	}
	m.mismatch.Store(nil)
	close(m.confirmed)
	return nil
}
