package kube

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
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

func TestTheLongerStepsFailTheRarerTheyAre(t *testing.T) {
	for _, row := range []struct {
		pauses  Pauses
		seconds []int // from one step to the next
	}{
		{Pauses{Usual: time.Minute, AfterFailure: 5 * time.Second}, []int{5, 10, 20, 40, 40}},
		{Pauses{Usual: 15 * time.Second, AfterFailure: 5 * time.Second}, []int{5, 10, 15, 15}},
		{Pauses{Usual: 2 * time.Second, AfterFailure: 2 * time.Second}, []int{2, 2, 2}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var seconds []int
			last, steps := time.Now(), 0
			_ = Repeat(ctx, NewSignal(), row.pauses, "", func(context.Context) error {
				if steps > 0 {
					seconds = append(seconds, int(time.Since(last).Seconds()))
				}
				last = time.Now()
				if steps++; len(seconds) == len(row.seconds) {
					cancel()
				}
				return errors.New("always")
			})
			if !slices.Equal(seconds, row.seconds) {
				t.Errorf("%+v: %v, want %v", row.pauses, seconds, row.seconds)
			}
		})
	}
}

func TestTheFirstOfManyFailuresAreLoggedOnce(t *testing.T) {
	var lines bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_ = Repeat(ctx, NewSignal(), Pauses{Usual: time.Minute, AfterFailure: time.Second}, "cannot write", func(context.Context) error {
			last := strconv.Itoa(int(time.Now().UnixNano())) // one of the many that differs
			return errors.New(strings.Repeat("connection refused\n", 100) + last)
		})
	})
	if found := lines.String(); strings.Count(found, "\n") != 1 || len(found) > 2*mostReason {
		t.Errorf("%d bytes: %s", len(found), found)
	}
}
