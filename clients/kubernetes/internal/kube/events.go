package kube

import (
	"context"
	"log/slog"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// The types of events.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

const (
	eventsController = "nrd.internal/node"
	// mostWaiting events while the API server is away or slow; more are dropped.
	mostWaiting = 64
	// Limits of events.k8s.io/v1, in bytes.
	mostNote, mostInstance = 1024, 128
	// mostNameBase leaves room for what the API server adds to an event's name.
	mostNameBase = 200
)

var eventKind = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// Object that an event is about.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
}

// Events of one node, which people see in "kubectl describe". They are written in the background: one that is refused or lost
// stops nothing. Only the right to create them is needed; client-go's recorder also patches repeated ones, and names its
// pod instead of the node.
type Events struct {
	api     dynamic.Interface
	node    string
	waiting chan *unstructured.Unstructured
}

// NewEvents writes none before Run.
func NewEvents(api dynamic.Interface, node string) *Events {
	return &Events{api: api, node: node, waiting: make(chan *unstructured.Unstructured, mostWaiting)}
}

// Tell never blocks. Reason and action are words in CamelCase.
func (e *Events) Tell(about Object, kind, reason, action, note string) {
	select {
	case e.waiting <- e.event(about, kind, reason, action, note):
	default:
		slog.Warn("too many events; one is dropped", "object", about.Namespace+"/"+about.Name, "note", note)
	}
}

// Run writes events until the context ends.
func (e *Events) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event := <-e.waiting:
			_, err := e.api.Resource(eventKind).Namespace(event.GetNamespace()).Create(ctx, event, metav1.CreateOptions{})
			if err != nil && ctx.Err() == nil {
				slog.Warn("cannot write an event", "event", event.Object["note"], "reason", err)
			}
		}
	}
}

func (e *Events) event(about Object, kind, reason, action, note string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":  map[string]any{"namespace": about.Namespace, "generateName": strings.TrimRight(Shortened(about.Name, mostNameBase), "-.") + "-"},
		"eventTime": time.Now().UTC().Format(metav1.RFC3339Micro),
		"regarding": map[string]any{
			"apiVersion": about.APIVersion, "kind": about.Kind, "namespace": about.Namespace, "name": about.Name, "uid": about.UID,
		},
		"reportingController": eventsController, "reportingInstance": Shortened(e.node, mostInstance),
		"type": kind, "reason": reason, "action": action, "note": Shortened(note, mostNote),
	}}
}

// Shortened to at most this many bytes, without a character that would be cut: JSON has three bytes for each byte of its rest.
func Shortened(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
