package election

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/internal/testservers"
)

const lease = "election-test"

// leasesOf the API server; the one of the test is gone after it.
func leasesOf(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	api, _ := testservers.Client(t)
	objects := api.Resource(leases).Namespace("default")
	t.Cleanup(func() { testservers.Delete(t, objects, lease) })
	return objects
}

func TestALeaseIsTakenIfItsHolderDoesNotRenewIt(t *testing.T) {
	start := time.Now()
	spec := func(holder string, renewed time.Duration) coordination.LeaseSpec {
		renewal := metav1.NewMicroTime(start.Add(renewed))
		return coordination.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewal}
	}
	const hour = time.Hour // by which the clocks differ
	c := &Candidate{identity: "this"}
	for _, row := range []struct {
		moment  string
		spec    coordination.LeaseSpec
		now     time.Duration
		mayHold bool
	}{
		{"new", coordination.LeaseSpec{}, 0, true},
		{"released", spec("", 0), 0, true},
		{"ours", spec("this", -hour), 0, true},
		{"another one's, seen first", spec("other", -hour), 0, false},
		{"not renewed yet", spec("other", -hour), leaseDuration - 1, false},
		{"renewed", spec("other", -hour+leaseDuration), leaseDuration, false},
		{"renewed a while ago", spec("other", -hour+leaseDuration), 2*leaseDuration - 1, false},
		{"renewed too long ago", spec("other", -hour+leaseDuration), 2 * leaseDuration, true},
		{"without a time, seen first", coordination.LeaseSpec{HolderIdentity: spec("other", 0).HolderIdentity}, 2 * leaseDuration, false},
		{"without a time", coordination.LeaseSpec{HolderIdentity: spec("other", 0).HolderIdentity}, 3 * leaseDuration, true},
	} {
		if mayHold := c.mayHold(row.spec, start.Add(row.now)); mayHold != row.mayHold {
			t.Errorf("%s: %v, want %v", row.moment, mayHold, row.mayHold)
		}
	}
}

func TestALeaseThatChangesBetweenReadAndWriteIsRenewedAtOnce(t *testing.T) {
	objects := leasesOf(t)
	api, connection := testservers.Client(t)
	c := NewCandidate(api, "default", lease, "this")
	for _, moment := range []string{"at first", "then"} {
		changes := 0
		connection.Intercept(func(request *http.Request) error {
			if isWrite := request.Method != http.MethodGet; isWrite && changes == 0 {
				changes++
				if moment == "at first" {
					testservers.Create(t, objects, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": lease}})
				} else if _, err := objects.Patch(t.Context(), lease, types.MergePatchType, []byte(`{"metadata": {"annotations": {"a": "b"}}}`), metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		c.renewed = time.Time{}
		if err := c.renew(t.Context()); err != nil || c.renewed.IsZero() || changes != 1 {
			t.Errorf("%s: %v, renewed at %v beside %d changes", moment, err, c.renewed, changes)
		}
	}
}

// replicas of one task.
type replicas struct {
	t       *testing.T
	leading atomic.Int32 // at this moment
	running sync.WaitGroup
}

type replica struct {
	*testservers.Connection
	starts atomic.Int32 // of its task
	stop   context.CancelFunc
}

func (r *replicas) start(identity string) *replica {
	api, connection := testservers.Client(r.t)
	started := &replica{Connection: connection}
	var ctx context.Context
	ctx, started.stop = context.WithCancel(r.t.Context())
	r.running.Go(func() {
		NewCandidate(api, "default", lease, identity).Run(ctx, func(ctx context.Context) error {
			if r.leading.Add(1) != 1 {
				r.t.Errorf("%s leads beside another one", identity)
			}
			started.starts.Add(1)
			<-ctx.Done()
			r.leading.Add(-1)
			return ctx.Err()
		})
	})
	return started
}

// await that a replica has led this often.
func (r *replicas) await(each *replica, starts int32, longest time.Duration, what string) {
	r.t.Helper()
	for end := time.Now().Add(longest); each.starts.Load() < starts; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited %v for %s", longest, what)
		}
	}
}

func TestOneReplicaLeadsAndTheOtherTakesOver(t *testing.T) {
	const longest = time.Minute
	objects := leasesOf(t)
	r := &replicas{t: t}
	first := r.start("first")
	r.await(first, 1, longest, "the first one to lead")
	second := r.start("second")
	first.Cut()
	r.await(second, 1, longest, "the second one to lead after the first one was cut off")
	first.Restore()
	second.stop()
	r.await(first, 2, leaseDuration-attemptTimeout, "the first one to lead once the second one has released the Lease")
	first.stop()
	r.running.Wait()
	found := testservers.Find(t, objects, lease)
	if found == nil {
		t.Fatal("there is no Lease")
	}
	spec := found.Object["spec"].(map[string]any)
	if holder, isHeld := spec["holderIdentity"]; isHeld || spec["leaseTransitions"] != int64(2) {
		t.Errorf("%v holds it after %v transitions, want none after two", holder, spec["leaseTransitions"])
	}
}

func TestTheEndOfTheTaskIsTheEndOfTheCandidate(t *testing.T) {
	objects := leasesOf(t)
	api, _ := testservers.Client(t)
	reason := errors.New("for once")
	if err := NewCandidate(api, "default", lease, "this").Run(t.Context(), func(context.Context) error { return reason }); !errors.Is(err, reason) {
		t.Errorf("%v, want the task's reason", err)
	}
	if found := testservers.Find(t, objects, lease); found == nil || found.Object["spec"].(map[string]any)["holderIdentity"] != nil {
		t.Errorf("%v, want the Lease to be released", found)
	}
}
