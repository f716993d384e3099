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

func TestAGrantStaysWhileNRDDecidesNothing(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
	}{
		{http.StatusServiceUnavailable, `{"detail": "too many requests wait"}`},
		{http.StatusOK, `{"id": 7`},
	} {
		client, asked := answering(t, row.status, row.body)
		c := &Controller{client: client, node: "node-a"}
		cr := &unstructured.Unstructured{}
		cr.SetName("one")
		err := c.apply(t.Context(), wanted{cr, intel.WorkloadSpec{CoreIDs: []string{"4"}}}, "0-7")
		if err == nil || !slices.Equal(*asked, []string{http.MethodPut}) {
			t.Errorf("%d %s: %v after %v, want an error after PUT alone", row.status, row.body, err, *asked)
		}
	}
}
