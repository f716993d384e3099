package election

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// server has one Lease, and refuses what was not written to its version.
type server struct {
	guard       sync.Mutex
	lease       *unstructured.Unstructured
	version     int
	isContended bool // another program writes to it before every other update
	updates     int
}

func (s *server) handle(action clienttesting.Action) (bool, runtime.Object, error) {
	s.guard.Lock()
	defer s.guard.Unlock()
	resource := coordination.Resource("leases")
	switch action := action.(type) {
	case clienttesting.UpdateAction: // a create has the same methods
		object := action.GetObject().(*unstructured.Unstructured).DeepCopy()
		if s.lease != nil && action.GetVerb() == "create" {
			return true, nil, apierrors.NewAlreadyExists(resource, "task")
		}
		if s.updates++; s.isContended && s.updates%2 == 0 {
			s.write(s.lease)
		}
		if s.lease != nil && s.lease.GetResourceVersion() != object.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(resource, "task", errors.New("changed"))
		}
		s.write(object)
	case clienttesting.GetAction:
		if s.lease == nil {
			return true, nil, apierrors.NewNotFound(resource, "task")
		}
	}
	return true, s.lease.DeepCopy(), nil
}

func (s *server) write(lease *unstructured.Unstructured) {
	s.version++
	lease.SetResourceVersion(strconv.Itoa(s.version))
	s.lease = lease
}

// cluster has the replicas of one task.
type cluster struct {
	t       *testing.T
	server  server
	leading atomic.Int32 // at this moment
}

type replica struct {
	starts atomic.Int32 // of its task
	isCut  atomic.Bool  // it reaches the server no more
	stop   context.CancelFunc
}

func (c *cluster) start(identity string) *replica {
	r := &replica{}
	api := fake.NewSimpleDynamicClient(runtime.NewScheme())
	api.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if r.isCut.Load() {
			time.Sleep(mostTime) // as a request that runs into its context's end
			return true, nil, context.DeadlineExceeded
		}
		return c.server.handle(action)
	})
	var ctx context.Context
	ctx, r.stop = context.WithCancel(c.t.Context())
	go NewCandidate(api, "nrd-system", "task", identity).Run(ctx, func(ctx context.Context) error {
		r.starts.Add(1)
		if c.leading.Add(1) != 1 {
			c.t.Errorf("%s leads beside another one", identity)
		}
		<-ctx.Done()
		c.leading.Add(-1)
		return ctx.Err()
	})
	return r
}

// expect that after some time the first and the second replica have led this often.
func (c *cluster) expect(pause time.Duration, moment string, first, second *replica, starts ...int32) {
	c.t.Helper()
	time.Sleep(pause)
	synctest.Wait()
	if found := []int32{first.starts.Load(), second.starts.Load()}; found[0] != starts[0] || found[1] != starts[1] {
		c.t.Errorf("%s: they led %v times, want %v", moment, found, starts)
	}
}

func TestOneReplicaLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t}
		first := c.start("first")
		time.Sleep(period / 2)
		second := c.start("second")
		c.expect(time.Minute, "in peace", first, second, 1, 0)
		first.stop()
		c.expect(2*period, "after the leader's end, at once", first, second, 1, 1)
		second.stop()
		synctest.Wait()
		if holder, isHeld, _ := unstructured.NestedString(c.server.lease.Object, "spec", "holderIdentity"); isHeld {
			t.Errorf("%s has not given it back", holder)
		}
		if count, _, _ := unstructured.NestedInt64(c.server.lease.Object, "spec", "leaseTransitions"); count != 2 {
			t.Errorf("%d transitions", count)
		}
	})
}

func TestALeaderThatIsCutOffStopsBeforeTheNextOneBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t}
		first := c.start("first")
		time.Sleep(period / 2)
		second := c.start("second")
		defer second.stop()
		c.expect(time.Minute, "in peace", first, second, 1, 0)
		first.isCut.Store(true)
		c.expect(deadline-period, "while it may still hold the Lease", first, second, 1, 0)
		if c.leading.Load() != 1 {
			t.Error("it gave up too early")
		}
		c.expect(duration, "after the Lease ran out", first, second, 1, 1)
		first.isCut.Store(false)
		c.expect(time.Minute, "when the former leader is back", first, second, 1, 1)
		second.stop()
		c.expect(2*period, "after the second one's end", first, second, 2, 1)
		first.stop()
		synctest.Wait()
	})
}

func TestWritesOfAnotherProgramDoNotEndTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, server: server{isContended: true}}
		first := c.start("first")
		time.Sleep(period / 2)
		second := c.start("second")
		c.expect(time.Minute, "beside its writes", first, second, 1, 0)
		if conflicts := c.server.updates / 2; conflicts < 10 {
			t.Errorf("it met %d conflicts", conflicts)
		}
		first.stop()
		second.stop()
		synctest.Wait()
	})
}
