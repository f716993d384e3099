package operator

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// lead runs a part on one replica at a time. The other ones wait; one that loses the Lease waits again.
func lead(ctx context.Context, config *rest.Config, name string, run func(context.Context) error) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, lease, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: name})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { _ = run(ctx) }, // it ends with the context alone
				OnStoppedLeading: func() {},
			}})
		if err != nil {
			return err
		}
		elector.Run(ctx)
	}
	return ctx.Err()
}
