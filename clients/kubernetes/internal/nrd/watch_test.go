package nrd

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func TestAChangeIsToldAtFirstOnceAndAfterEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		answers := []string{"7", "7", "8", "", "8", "8"} // empty: nrd is away
		var asked []string
		told := 0
		_ = watch(ctx, func() { told++ }, func(revision string) (string, error) {
			next := answers[len(asked)]
			if asked = append(asked, revision); len(asked) == len(answers) {
				cancel()
			}
			if next == "" {
				return "", ErrUnreachable
			}
			return next, nil
		})
		if want := []string{"", "7", "7", "8", "", "8"}; !slices.Equal(asked, want) || told != 3 {
			t.Errorf("asked for changes since %q, want %q; reported %d times, want 3", asked, want, told)
		}
	})
}

func TestTheFirstQuestionIsNoLongPoll(t *testing.T) {
	if query := since("").Encode(); query != "" {
		t.Error(query)
	}
	if query := since("7").Encode(); query != "since=7&wait=60" {
		t.Error(query)
	}
}
