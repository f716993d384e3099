// Package parts runs what a role consists of.
package parts

import (
	"context"
	"errors"
	"sync"
)

// Run runs all until the first returns, and waits for the others.
func Run(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, each := range all {
		running.Go(func() {
			err := each(ctx)
			if err == nil {
				err = errors.New("a part of the program has ended")
			}
			cancel(err)
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
