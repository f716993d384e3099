// Package election lets one replica at a time do a task, by a Lease of the API server. It only saves double work: what the
// task writes, it writes to the version that it has read. client-go's election would bring all kinds of the API server into
// the program, which made up a third of its size and of the memory of the node role.
package election

import (
	"context"
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

// timing of an election.
type timing struct {
	duration time.Duration // without a renewal for this time another replica takes over
	deadline time.Duration // before that the leader has stopped
	period   time.Duration
	most     time.Duration // of a turn: two that fail end by the deadline, with their pauses
}

var usual = timing{duration: 15 * time.Second, deadline: 10 * time.Second, period: 2 * time.Second, most: 2 * time.Second}

var leases = coordination.SchemeGroupVersion.WithResource("leases")

// Candidate for a Lease. One goroutine uses it.
type Candidate struct {
	leases         dynamic.ResourceInterface
	name, identity string
	renewed        time.Time // by us; zero: never
	seen           metav1.MicroTime
	seenSince      time.Time // by our own clock: that of the other replica may differ
	timing
}

// NewCandidate for the Lease of this name; identity tells this replica from the others.
func NewCandidate(api dynamic.Interface, namespace, name, identity string) *Candidate {
	return &Candidate{leases: api.Resource(leases).Namespace(namespace), name: name, identity: identity, timing: usual}
}

// Run does the task while this replica holds the Lease, until the context ends. Then it gives the Lease back, so that the
// other one need not wait.
func (c *Candidate) Run(ctx context.Context, task func(context.Context) error) error {
	var leading work
	pauses := kube.Pauses{Usual: c.period, AfterFailure: c.period}
	err := kube.Repeat(ctx, kube.NewSignal(), pauses, "cannot renew Lease "+c.name, func(ctx context.Context) error {
		failure := c.renew(ctx)
		if time.Since(c.renewed) < c.deadline {
			leading.start(ctx, task)
		} else {
			leading.stop()
		}
		return failure
	})
	leading.stop()
	c.giveBack()
	return err
}

// renew takes the Lease if it is free. Another replica's is no error, nor is one that it takes in the same moment.
func (c *Candidate) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	now := time.Now() // before the request: when the other replica sees it, this much has passed at least
	lease, err := c.read(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	isNew := err != nil
	if !c.mayHold(&lease.Spec, now) {
		c.renewed = time.Time{}
		return nil
	}
	c.hold(&lease.Spec, now)
	if err := c.write(ctx, lease, isNew); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	c.renewed = now
	return nil
}

// mayHold tells whether it is ours, nobody's, or one that its holder has not renewed for too long.
func (c *Candidate) mayHold(spec *coordination.LeaseSpec, now time.Time) bool {
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || *spec.HolderIdentity == c.identity {
		return true
	}
	if renewal := spec.RenewTime; c.seenSince.IsZero() || renewal != nil && !renewal.Equal(&c.seen) {
		c.seenSince = now
		if renewal != nil {
			c.seen = *renewal
		}
	}
	return now.Sub(c.seenSince) >= c.duration
}

// hold writes us into it.
func (c *Candidate) hold(spec *coordination.LeaseSpec, now time.Time) {
	moment, seconds := metav1.NewMicroTime(now), int32(c.duration/time.Second)
	if spec.HolderIdentity == nil || *spec.HolderIdentity != c.identity {
		transitions := int32(1)
		if spec.LeaseTransitions != nil {
			transitions += *spec.LeaseTransitions
		}
		spec.HolderIdentity, spec.AcquireTime, spec.LeaseTransitions = &c.identity, &moment, &transitions
	}
	spec.RenewTime, spec.LeaseDurationSeconds = &moment, &seconds
}

// giveBack does what it can: another replica takes an abandoned one later.
func (c *Candidate) giveBack() {
	ctx, cancel := context.WithTimeout(context.Background(), c.most)
	defer cancel()
	lease, err := c.read(ctx)
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != c.identity {
		return
	}
	lease.Spec.HolderIdentity = nil
	_ = c.write(ctx, lease, false)
}

func (c *Candidate) read(ctx context.Context) (*coordination.Lease, error) {
	lease := &coordination.Lease{TypeMeta: metav1.TypeMeta{APIVersion: coordination.SchemeGroupVersion.String(), Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	found, err := c.leases.Get(ctx, c.name, metav1.GetOptions{})
	if err != nil {
		return lease, err
	}
	return lease, runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, lease)
}

// write fails if it has changed since it was read.
func (c *Candidate) write(ctx context.Context, lease *coordination.Lease, isNew bool) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lease)
	if err != nil {
		return err
	}
	if isNew {
		_, err = c.leases.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: c.name})
	} else {
		_, err = c.leases.Update(ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{FieldManager: c.name})
	}
	return err
}

// work is a task that runs, or not.
type work struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// start again one that runs does nothing, nor does one that has ended before its context: the program goes on without it.
func (w *work) start(ctx context.Context, task func(context.Context) error) {
	if w.cancel != nil {
		return
	}
	slog.Info("this replica leads now")
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = task(ctx) // it ends with the context alone
	}()
}

// stop waits until it has ended.
func (w *work) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	<-w.ended
	*w = work{}
	slog.Info("this replica does not lead any more")
}
