package kube

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Signal joins requests for another turn into one.
type Signal chan struct{}

// NewSignal is not raised.
func NewSignal() Signal { return make(Signal, 1) }

// Raise schedules a turn. Never blocks.
func (s Signal) Raise() {
	select {
	case s <- struct{}{}:
	default: // one is due anyway
	}
}

// Watch runs an informer until the context ends, and raises the signal at each of its events. It returns once the first
// list is complete.
func Watch(ctx context.Context, informer cache.SharedIndexInformer, changed Signal) error {
	return WatchFor(ctx, informer, changed, func(_, _ any) bool { return true })
}

// WatchFor leaves out updates that do not count.
func WatchFor(ctx context.Context, informer cache.SharedIndexInformer, changed Signal, counts func(before, after any) bool) error {
	raiseIfCounts := func(before, after any) {
		if counts(before, after) {
			changed.Raise()
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed.Raise() }, UpdateFunc: raiseIfCounts, DeleteFunc: func(any) { changed.Raise() }})
	if err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// Pauses between two steps without a signal. That after a failure doubles with each further one, up to longest.
type Pauses struct {
	Usual, AfterFailure time.Duration
}

// mostDoubled is how much longer than the first the last pause after a failure is: hundreds of nodes come again at a server that
// was away.
const mostDoubled = 8

// longest pause after a failure.
func (p Pauses) longest() time.Duration {
	return max(min(mostDoubled*p.AfterFailure, p.Usual), p.AfterFailure)
}

// settle joins changes that come together, such as a list at the start.
const settle = 100 * time.Millisecond

// mostReason bytes of a failure in the log. While the API server is away, each of a hundred objects has its own.
const mostReason = 1000

// Repeat takes a step at first, at each signal and after a pause, until the context ends. failure begins the line of the
// log about a step that fails; there is one until it succeeds or fails for another reason.
func Repeat(ctx context.Context, changed Signal, pauses Pauses, failure string, step func(context.Context) error) error {
	failed := pauses.AfterFailure
	for last := ""; ; {
		next, reason := pauses.Usual, ""
		if err := step(ctx); err != nil {
			next, reason = failed, Shortened(err.Error(), mostReason)
			failed = min(2*failed, pauses.longest())
		} else {
			failed = pauses.AfterFailure
		}
		if reason != "" && reason != last && ctx.Err() == nil {
			slog.Warn(failure+"; trying again", "reason", reason)
		}
		last = reason
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(next):
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settle):
		}
		select {
		case <-changed:
		default:
		}
	}
}
