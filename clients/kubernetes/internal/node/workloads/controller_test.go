package workloads

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/nrd"
)

// answering is a client of an nrd that has this answer to all, and the methods that it was asked for.
func answering(t *testing.T, status int, body string) (*nrd.Client, *[]string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "nrd.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		asked = append(asked, request.Method)
		answer.WriteHeader(status)
		_, _ = answer.Write([]byte(body))
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return nrd.New(socket), &asked
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

func TestNRDIsAskedOnceForWhatItHas(t *testing.T) {
	client, asked := answering(t, http.StatusOK, `{"id": "cr.default.one", "status": "Successful"}`)
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}}
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
	c := &Controller{client: client, node: "node-a", answers: map[string]answer{}}
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

func TestAGrantStaysWhileNRDDecidesNothing(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
	}{
		{http.StatusServiceUnavailable, `{"detail": "too many requests wait"}`},
		{http.StatusOK, `{"id": 7`},
	} {
		client, asked := answering(t, row.status, row.body)
		c := &Controller{client: client, node: "node-a", answers: map[string]answer{}}
		err := c.apply(t.Context(), one(t, intel.WorkloadState{}), nrd.Node{}, nrd.Workload{ID: "cr.default.one"})
		if err == nil || !slices.Equal(*asked, []string{http.MethodPut}) {
			t.Errorf("%d %s: %v after %v, want an error after PUT alone", row.status, row.body, err, *asked)
		}
	}
}
