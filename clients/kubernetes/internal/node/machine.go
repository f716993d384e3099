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

const (
	// askInterval between questions until both have told the machine's id.
	askInterval = 2 * time.Second
	// firstDeadline of the first question, for which everything else waits.
	firstDeadline = 2 * time.Second
)

// machine compares the machine of nrd with that of the Node object: a wrong socket or a wrong --node would put
// containers into classes of another machine's books.
type machine struct {
	client *nrd.Client
	api    dynamic.Interface
	node   string
	// verdict is nil until both are known; then a text, empty if they are one machine.
	verdict atomic.Pointer[string]
}

// Mismatch is an error once both machines are known and differ.
func (m *machine) Mismatch() error {
	if text := m.verdict.Load(); text != nil && *text != "" {
		return fmt.Errorf("%s", *text)
	}
	return nil
}

// IsConfirmed tells whether both are known to be one machine.
func (m *machine) IsConfirmed() bool {
	text := m.verdict.Load()
	return text != nil && *text == ""
}

// askFirst asks before anything is compared or offered. Without an answer those begin all the same: while the API server is
// away, containers of before have to be repaired.
func (m *machine) askFirst(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstDeadline)
	defer cancel()
	m.ask(ctx)
}

// after runs what writes to the API server, once both are known to be one machine. It waits as long as they are not.
func (m *machine) after(ctx context.Context, run func(context.Context) error) error {
	for {
		if m.IsConfirmed() {
			return run(ctx)
		}
		m.ask(ctx)
		if m.IsConfirmed() {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askInterval):
		}
	}
}

func (m *machine) ask(ctx context.Context) {
	node, err := m.client.Node(ctx)
	if err != nil {
		return // PreStartContainer says so
	}
	object, err := m.api.Resource(kube.Nodes).Get(ctx, m.node, metav1.GetOptions{})
	if err != nil {
		slog.Warn("cannot read this node from the API server; trying again", "node", m.node, "reason", err)
		return
	}
	id, _, _ := unstructured.NestedString(object.Object, "status", "nodeInfo", "machineID")
	text := ""
	// Without an id on either side there is nothing to compare.
	if id != "" && node.MachineID != "" && id != node.MachineID {
		text = fmt.Sprintf("nrd's machine id is %s, that of node %s is %s: --nrd-socket or --node is wrong", node.MachineID, m.node, id)
	}
	if before := m.verdict.Swap(&text); text != "" && (before == nil || *before != text) {
		slog.Error(text)
	}
}
