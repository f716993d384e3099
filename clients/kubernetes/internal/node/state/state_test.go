package state

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"nrd.internal/kubernetes/api/intel"
)

// cluster has one Node, and the object or not. It notes what is asked, in order.
type cluster struct {
	api      *fake.FakeDynamicClient
	nodeUID  string
	owner    string // uid in the object
	isThere  bool
	requests []string
}

func newCluster() *cluster {
	c := &cluster{api: fake.NewSimpleDynamicClient(runtime.NewScheme()), nodeUID: "first"}
	c.api.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.requests = append(c.requests, "get node")
		node := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
		node.SetUID(types.UID(c.nodeUID))
		return true, node, nil
	})
	c.api.PrependReactor("patch", "rmdnodestates", c.apply)
	return c
}

func (c *cluster) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(action.(clienttesting.PatchAction).GetPatch()); err != nil {
		return true, nil, err
	}
	if action.GetSubresource() == "status" {
		c.requests = append(c.requests, "status")
		if !c.isThere {
			return true, nil, apierrors.NewNotFound(intel.NodeStates.GroupResource(), object.GetName())
		}
		return true, object, nil
	}
	c.requests = append(c.requests, "make")
	c.isThere, c.owner = true, string(object.GetOwnerReferences()[0].UID)
	return true, object, nil
}

func (c *cluster) expect(t *testing.T, moment string, requests ...string) {
	t.Helper()
	if !slices.Equal(c.requests, requests) {
		t.Errorf("%s: %q, want %q", moment, c.requests, requests)
	}
	c.requests = nil
}

func TestADeletedStateIsMadeAgainOnAQuietNode(t *testing.T) {
	c := newCluster()
	m := New(nil, c.api, "node-a")
	publish := func(workload string) {
		t.Helper()
		if err := m.publish(t.Context(), map[string]any{"workloads": map[string]any{workload: map[string]any{}}}); err != nil {
			t.Error(err)
		}
	}
	publish("one")
	c.expect(t, "at first", "get node", "make", "status")
	publish("one")
	c.expect(t, "without a change")
	publish("two")
	c.expect(t, "after a change", "status")
	m.writtenAt = time.Now().Add(-rewriteInterval)
	publish("two")
	c.expect(t, "after a while", "status")
	c.isThere, c.nodeUID = false, "second"
	m.writtenAt = time.Now().Add(-rewriteInterval)
	publish("two")
	c.expect(t, "after a while without the object", "status", "get node", "make", "status")
	if c.owner != "second" {
		t.Errorf("it belongs to Node %s, want the one that there is now", c.owner)
	}
}
