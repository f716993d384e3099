package workloads

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/nrd"
)

// answering is a client of an nrd that has this answer to all, and records the methods of its requests.
func answering(t *testing.T, status int, body string) (*nrd.Client, *[]string) {
	t.Helper()
	var asked []string
	client := served(t, func(answer http.ResponseWriter, request *http.Request) {
		asked = append(asked, request.Method)
		answer.WriteHeader(status)
		_, _ = answer.Write([]byte(body))
	})
	return client, &asked
}

// served is a client of an nrd that answers so.
func served(t *testing.T, answer http.HandlerFunc) *nrd.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "nrd.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return nrd.New(socket)
}

// one is a CR that has this state already, so that nothing is written to the API server.
func one(t *testing.T, state intel.WorkloadState) wanted {
	t.Helper()
	content, err := contentOf(state)
	if err != nil {
		t.Fatal(err)
	}
	cr := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"workloadStates": map[string]any{"node-a": content}}}}
	cr.SetNamespace("default")
	cr.SetName("one")
	return wanted{cr, intel.WorkloadSpec{CoreIDs: []string{"4"}}}
}

// storeAlone is an informer whose store a test fills.
func storeAlone() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, &unstructured.Unstructured{}, 0, cache.Indexers{})
}

func TestNRDIsAskedOnceForWhatItHas(t *testing.T) {
	client, asked := answering(t, http.StatusOK, `{"id": "cr.default.one", "status": "Successful"}`)
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}}
	granted := nrd.Workload{ID: "cr.default.one", Status: "Successful"}
	changed := granted
	changed.Labels = map[string]string{"by": "an administrator"}
	each, other, policy := one(t, stateOf(granted, nil)), one(t, stateOf(granted, nil)), one(t, stateOf(granted, nil))
	other.spec.CoreIDs, policy.spec.Policy = []string{"5"}, "gold"
	for _, row := range []struct {
		name     string
		cr       wanted
		found    nrd.Workload
		capacity int64
		asks     int
	}{
		{"at first", each, granted, 1, 1}, {"the same", each, granted, 1, 0}, {"gone", each, nrd.Workload{}, 1, 1},
		{"changed at nrd", each, changed, 1, 1}, {"the same again", each, granted, 1, 0}, {"another capacity", each, granted, 2, 1},
		{"another request", other, granted, 2, 1}, {"a policy", policy, granted, 2, 1}, {"the same policy", policy, granted, 2, 1},
	} {
		*asked = nil
		node := nrd.Node{Capacity: nrd.Capacity{Revision: row.capacity}}
		if err := c.apply(t.Context(), row.cr, node, row.found); err != nil || len(*asked) != row.asks {
			t.Errorf("%s: %v after %v, want %d requests", row.name, err, *asked, row.asks)
		}
	}
}

func TestARefusedCRLosesWhatItsFormerVersionHad(t *testing.T) {
	client, asked := answering(t, http.StatusConflict, `{"detail": "no"}`)
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}}
	refused := one(t, intel.WorkloadState{Response: "Fail: nrd refuses: no"})
	if err := c.apply(t.Context(), refused, nrd.Node{}, nrd.Workload{}); err != nil || !slices.Equal(*asked, []string{http.MethodPut}) {
		t.Errorf("%v after %v, want PUT alone of a workload that is not there", err, *asked)
	}
	*asked = nil
	_ = c.apply(t.Context(), refused, nrd.Node{}, nrd.Workload{ID: "cr.default.one"})
	if !slices.Equal(*asked, []string{http.MethodPut, http.MethodDelete}) {
		t.Errorf("%v, want PUT and DELETE", *asked)
	}
}

func TestACRSaysThatAnotherClientOfNRDHasItsWorkload(t *testing.T) {
	client, asked := answering(t, http.StatusForbidden, `{"detail": "no"}`)
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}}
	refused := one(t, intel.WorkloadState{Response: "Fail: nrd refuses: no"})
	if err := c.apply(t.Context(), refused, nrd.Node{}, nrd.Workload{ID: "cr.default.one"}); err != nil {
		t.Errorf("%v after %v, want the state alone", err, *asked)
	}
}

func TestAGrantStaysWhileNRDDecidesNothing(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
	}{
		{http.StatusServiceUnavailable, `{"detail": "too many requests wait"}`},
		{http.StatusOK, `{"id": 7`},
	} {
		client, asked := answering(t, row.status, row.body)
		c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}}
		err := c.apply(t.Context(), one(t, intel.WorkloadState{}), nrd.Node{}, nrd.Workload{ID: "cr.default.one"})
		if err == nil || !slices.Equal(*asked, []string{http.MethodPut}) {
			t.Errorf("%d %s: %v after %v, want an error after PUT alone", row.status, row.body, err, *asked)
		}
	}
}

func TestACRThatCannotBeReadStopsNoOther(t *testing.T) {
	var changes []string
	client := served(t, func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method != http.MethodGet:
			changes = append(changes, request.Method+" "+request.URL.Path)
			answer.WriteHeader(http.StatusConflict)
			_, _ = answer.Write([]byte(`{"detail": "no"}`))
		case request.URL.Path == "/v1/workloads":
			_, _ = answer.Write([]byte(`[{"id": "cr.default.unread"}, {"id": "cr.default.gone"}]`))
		default:
			_, _ = answer.Write([]byte(`{}`))
		}
	})
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}, workloads: storeAlone(), self: storeAlone()}
	readable := one(t, intel.WorkloadState{Response: "Fail: nrd refuses: no"}).object
	readable.Object["spec"] = map[string]any{"nodes": []any{"node-a"}}
	unread := one(t, intel.WorkloadState{Response: "Success: 200"}).object
	unread.SetName("unread")
	unread.Object["spec"] = map[string]any{"nodes": "node-a"}
	for _, cr := range []*unstructured.Unstructured{unread, readable} {
		if err := c.workloads.GetStore().Add(cr); err != nil {
			t.Fatal(err)
		}
	}
	err := c.compare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "RmdWorkload default/unread") {
		t.Errorf("%v, want an error about the CR that cannot be read", err)
	}
	if want := []string{"DELETE /v1/workloads/cr.default.gone", "PUT /v1/workloads/cr.default.one"}; !slices.Equal(changes, want) {
		t.Errorf("%v, want %v: what the other had stays", changes, want)
	}
}

func TestAnNRDThatGoesAwayIsAskedForOneCR(t *testing.T) {
	var asked atomic.Int32
	client := served(t, func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method != http.MethodGet:
			asked.Add(1)
			panic(http.ErrAbortHandler)
		case request.URL.Path == "/v1/workloads":
			_, _ = answer.Write([]byte(`[]`))
		default:
			_, _ = answer.Write([]byte(`{}`))
		}
	})
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}, writes: map[string]write{}, workloads: storeAlone(), self: storeAlone()}
	for _, name := range []string{"one", "two", "three"} {
		cr := one(t, intel.WorkloadState{Response: "Success: 200"}).object
		cr.SetName(name)
		cr.Object["spec"] = map[string]any{"nodes": []any{"node-a"}}
		if err := c.workloads.GetStore().Add(cr); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.compare(t.Context()); !errors.Is(err, nrd.ErrUnreachable) || asked.Load() != 1 {
		t.Errorf("%v after %d requests, want one", err, asked.Load())
	}
}
