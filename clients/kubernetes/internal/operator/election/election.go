// Package election lets one replica at a time do a task, by a Lease of the API server. It only saves double work: the task
// writes to the version that it has read. client-go's election would bring all kinds of the API server into the program.
package election

import (
	"context"
	"errors"
	"log/slog"
	"time"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/internal/kube"
)

const (
	leaseDuration  = 15 * time.Second // without a renewal for this time another replica takes over
	renewDeadline  = 10 * time.Second // without a renewal for this time the leader stops
	retryPeriod    = 2 * time.Second
	attemptTimeout = 5 * time.Second
)

var leases = coordination.SchemeGroupVersion.WithResource("leases")

// Candidate for a Lease. One goroutine uses it.
type Candidate struct {
	leases         dynamic.ResourceInterface
	name, identity string
	renewed        time.Time // by this replica; zero: another one has the Lease, or none
	seen           metav1.MicroTime
	seenSince      time.Time // by the clock of this machine: that of the other replica may differ
}

// NewCandidate for the Lease of this name; identity tells this replica from the others.
func NewCandidate(api dynamic.Interface, namespace, name, identity string) *Candidate {
	return &Candidate{leases: api.Resource(leases).Namespace(namespace), name: name, identity: identity}
}

// Run does the task while this replica holds the Lease, until the context or the task ends. Then it releases the Lease, so
// that the other replica need not wait.
func (c *Candidate) Run(ctx context.Context, task func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var leading work
	pauses := kube.Pauses{Usual: retryPeriod, AfterFailure: retryPeriod}
	_ = kube.Repeat(ctx, kube.NewSignal(), pauses, "cannot renew Lease "+c.name, func(ctx context.Context) error {
		failure := c.renew(ctx)
		if left := renewDeadline - time.Since(c.renewed); left > 0 {
			leading.keep(ctx, left, task, end)
		} else {
			leading.stop()
		}
		return failure
	})
	leading.stop()
	c.release()
	return context.Cause(ctx)
}

// renew the Lease, or acquire it if it is free. That another replica has it, or is faster, is no error.
func (c *Candidate) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	for {
		err := c.try(ctx)
		hasChanged := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) // since it was read
		if !hasChanged {
			return err
		}
	}
}

func (c *Candidate) try(ctx context.Context) error {
	start := time.Now() // the other replica sees the renewal later
	found, err := c.leases.Get(ctx, c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found, err = c.create(ctx)
	}
	if err != nil {
		return err
	}
	lease := &coordination.Lease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, lease); err != nil {
		return err
	}
	if !c.mayHold(lease.Spec, time.Now()) {
		c.renewed = time.Time{}
		return nil
	}
	c.hold(&lease.Spec, start)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lease)
	if err != nil {
		return err
	}
	if _, err = c.leases.Update(ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{FieldManager: c.name}); err == nil {
		c.renewed = start
	}
	return err
}

// create a Lease without a holder.
func (c *Candidate) create(ctx context.Context) (*unstructured.Unstructured, error) {
	lease := &unstructured.Unstructured{Object: map[string]any{"apiVersion": coordination.SchemeGroupVersion.String(), "kind": "Lease"}}
	lease.SetName(c.name)
	return c.leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: c.name})
}

// mayHold reports whether the Lease is free, is ours, or has not been renewed by its holder for too long, of which it notes
// each renewal.
func (c *Candidate) mayHold(spec coordination.LeaseSpec, now time.Time) bool {
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || *spec.HolderIdentity == c.identity {
		return true
	}
	var renewal metav1.MicroTime
	if spec.RenewTime != nil {
		renewal = *spec.RenewTime
	}
	if c.seenSince.IsZero() || !renewal.Equal(&c.seen) {
		c.seen, c.seenSince = renewal, now
	}
	return now.Sub(c.seenSince) >= leaseDuration
}

// hold writes this replica into the Lease.
func (c *Candidate) hold(spec *coordination.LeaseSpec, now time.Time) {
	moment, seconds := metav1.NewMicroTime(now), int32(leaseDuration/time.Second)
	if spec.HolderIdentity == nil || *spec.HolderIdentity != c.identity {
		transitions := int32(0)
		if spec.LeaseTransitions != nil {
			transitions = *spec.LeaseTransitions + 1
		}
		spec.HolderIdentity, spec.AcquireTime, spec.LeaseTransitions = &c.identity, &moment, &transitions
	}
	spec.RenewTime, spec.LeaseDurationSeconds = &moment, &seconds
}

// release the Lease if this replica holds it. If that fails, another one acquires it later.
func (c *Candidate) release() {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	found, err := c.leases.Get(ctx, c.name, metav1.GetOptions{})
	if err != nil {
		return
	}
	if holder, _, _ := unstructured.NestedString(found.Object, "spec", "holderIdentity"); holder == c.identity {
		unstructured.RemoveNestedField(found.Object, "spec", "holderIdentity")
		_, _ = c.leases.Update(ctx, found, metav1.UpdateOptions{FieldManager: c.name})
	}
}

// work is a task that runs, or not.
type work struct {
	cancel  context.CancelFunc
	timer   *time.Timer // ends it
	stopped chan struct{}
}

// keep it running for this long from now, and start it if it does not run. If it ends by itself, it ends all.
func (w *work) keep(ctx context.Context, left time.Duration, task func(context.Context) error, end context.CancelCauseFunc) {
	if w.cancel != nil && w.timer.Reset(left) {
		return
	}
	w.stop() // a renewal came too late
	slog.Info("this replica leads now")
	ctx, w.cancel = context.WithCancel(ctx)
	w.timer = time.AfterFunc(left, w.cancel)
	w.stopped = make(chan struct{})
	go func() {
		defer close(w.stopped)
		if err := task(ctx); ctx.Err() == nil {
			end(errors.Join(errors.New("the leader's task has ended"), err))
		}
	}()
}

// stop waits until it has ended.
func (w *work) stop() {
	if w.cancel == nil {
		return
	}
	w.timer.Stop()
	w.cancel()
	<-w.stopped
	*w = work{}
	slog.Info("this replica does not lead any more")
}
