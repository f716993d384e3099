package election

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"nrd.internal/kubernetes/internal/apitest"
)

// short has the proportions of the usual one. A leader that was cut off has two seconds to stop before the next one begins.
var short = timing{duration: 4 * time.Second, deadline: 2 * time.Second, period: 200 * time.Millisecond, most: 400 * time.Millisecond}

// cluster has the replicas of one task.
type cluster struct {
	t       *testing.T
	lease   string
	leading atomic.Int32 // at this moment
	running sync.WaitGroup
}

func newCluster(t *testing.T, lease string) *cluster {
	t.Parallel() // they wait most of the time
	c := &cluster{t: t, lease: lease}
	t.Cleanup(func() {
		c.running.Wait()
		apitest.Delete(t, c.leases(), lease)
	})
	return c
}

func (c *cluster) leases() dynamic.ResourceInterface {
	api, _ := apitest.Client(c.t)
	return api.Resource(leases).Namespace("default")
}

type replica struct {
	*apitest.Connection
	starts atomic.Int32 // of its task
	stop   context.CancelFunc
}

func (c *cluster) start(identity string) *replica {
	api, connection := apitest.Client(c.t)
	r := &replica{Connection: connection}
	candidate := NewCandidate(api, "default", c.lease, identity)
	candidate.timing = short
	var ctx context.Context
	ctx, r.stop = context.WithCancel(c.t.Context())
	c.running.Go(func() {
		candidate.Run(ctx, func(ctx context.Context) error {
			r.starts.Add(1)
			if c.leading.Add(1) != 1 {
				c.t.Errorf("%s leads beside another one", identity)
			}
			<-ctx.Done()
			c.leading.Add(-1)
			return ctx.Err()
		})
	})
	return r
}

// await that a replica has led this often.
func (c *cluster) await(r *replica, starts int32, longest time.Duration, what string) {
	c.t.Helper()
	for end := time.Now().Add(longest); r.starts.Load() < starts; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("waited %v in vain for %s", longest, what)
		}
	}
}

func (c *cluster) expect(moment string, r *replica, starts int32) {
	c.t.Helper()
	if found := r.starts.Load(); found != starts {
		c.t.Errorf("%s: it led %d times, want %d", moment, found, starts)
	}
}

func TestOneReplicaLeads(t *testing.T) {
	c := newCluster(t, "one-leads")
	first := c.start("first")
	c.await(first, 1, short.duration, "the first one to lead")
	second := c.start("second")
	time.Sleep(short.duration + short.deadline)
	c.expect("beside a leader", second, 0)
	first.stop()
	c.await(second, 1, short.duration/2, "the second one, to which the Lease was given back")
	second.stop()
	c.running.Wait()
	c.expect("in peace", first, 1)
	spec := apitest.Find(t, c.leases(), c.lease).Object["spec"].(map[string]any)
	if holder, isHeld := spec["holderIdentity"]; isHeld || spec["leaseTransitions"] != int64(2) {
		t.Errorf("%v holds it after %v transitions, want nobody after two", holder, spec["leaseTransitions"])
	}
}

func TestALeaderThatIsCutOffStopsBeforeTheNextOneBegins(t *testing.T) {
	c := newCluster(t, "cut-off")
	first := c.start("first")
	c.await(first, 1, short.duration, "the first one to lead")
	second := c.start("second")
	time.Sleep(short.deadline)
	first.Cut(true)
	time.Sleep(short.deadline / 2)
	if c.leading.Load() != 1 {
		t.Error("it gave up too early")
	}
	c.await(second, 1, 2*short.duration, "the second one to lead")
	first.Cut(false)
	time.Sleep(short.duration)
	c.expect("back beside the next leader", first, 1)
	second.stop()
	c.await(first, 2, short.duration/2, "the first one to lead again")
	first.stop()
}

func TestWritesOfAnotherProgramDoNotEndTheLead(t *testing.T) {
	c := newCluster(t, "written")
	first := c.start("first")
	c.await(first, 1, short.duration, "it to lead")
	renewed := func() string {
		text, _, _ := unstructured.NestedString(apitest.Find(t, c.leases(), c.lease).Object, "spec", "renewTime")
		return text
	}
	before, objects := renewed(), c.leases()
	for end := time.Now().Add(short.duration); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := objects.Patch(t.Context(), c.lease, types.MergePatchType,
			[]byte(`{"metadata": {"annotations": {"time": "`+time.Now().String()+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if after := renewed(); after == before {
		t.Error("it was not renewed beside them")
	}
	c.expect("beside them", first, 1)
	first.stop()
}
