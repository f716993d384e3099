package kube

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestChangesThatComeTogetherAreOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changed := NewSignal()
		var steps atomic.Int32
		go Repeat(ctx, changed, Pauses{Usual: time.Minute, AfterFailure: time.Second}, "", func(context.Context) error {
			if steps.Add(1) == 3 {
				return errors.New("for once")
			}
			return nil
		})
		expect := func(moment string, want int32) {
			t.Helper()
			synctest.Wait()
			if found := steps.Load(); found != want {
				t.Errorf("%s: %d steps, want %d", moment, found, want)
			}
		}
		expect("at first", 1)
		changed.Raise()
		changed.Raise()
		time.Sleep(settle / 2)
		changed.Raise()
		time.Sleep(2 * settle)
		expect("after three changes", 2)
		time.Sleep(time.Minute)
		expect("after the pause, with a failure", 3)
		time.Sleep(time.Second + settle)
		expect("after the pause for a failure", 4)
	})
}
