package workloads

import (
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/kube"
)

func TestAStatusIsWrittenOnceHoweverLateTheInformerShowsIt(t *testing.T) {
	writes := 0
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		writes++
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.Write([]byte(`{"apiVersion": "intel.com/v1alpha1", "kind": "RmdWorkload", "metadata": {"name": "one", "resourceVersion": "10"}}`))
	}))
	defer server.Close()
	api, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	former, state := intel.WorkloadState{Response: "Fail: no"}, intel.WorkloadState{Response: "Success: 200", ID: "cr.default.one"}
	c := &Controller{api: api, node: "node-a", writes: map[string]write{}, workloads: storeAlone(), events: kube.NewEvents(api, "node-a")}
	for _, row := range []struct {
		moment  string
		shown   intel.WorkloadState
		version string
		isClear bool
		writes  int
	}{
		{"at first", former, "9", false, 1}, {"not shown yet", former, "9", false, 0}, {"shown", state, "10", false, 0},
		{"changed by others", former, "11", false, 1}, {"cleared", state, "12", true, 1}, {"not shown as cleared yet", state, "9", true, 0},
	} {
		each := one(t, row.shown)
		each.object.SetResourceVersion(row.version)
		if err := c.workloads.GetStore().Add(each.object); err != nil {
			t.Fatal(err)
		}
		writes = 0
		if row.isClear {
			err = c.clearOthers(t.Context(), map[string]bool{})
		} else {
			err = c.writeState(t.Context(), each, state)
		}
		if err != nil || writes != row.writes {
			t.Errorf("%s: %d writes, %v, want %d", row.moment, writes, err, row.writes)
		}
	}
}

func TestAStatusThatTheAPIServerDoesNotTakeIsTriedAgainWithTheNextVersion(t *testing.T) {
	writes := 0
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		writes++
		answer.Header().Set("Content-Type", "application/json")
		answer.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = answer.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "message": "one too many", "code": 422}`))
	}))
	defer server.Close()
	api, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	granted, refused := intel.WorkloadState{Response: "Success: 200", ID: "cr.default.one"}, intel.WorkloadState{Response: "Fail: no"}
	c := &Controller{api: api, node: "node-a", writes: map[string]write{}, unshown: map[string]unshown{}, workloads: storeAlone(), events: kube.NewEvents(api, "node-a")}
	for _, row := range []struct {
		moment  string
		state   intel.WorkloadState
		version string
		writes  int
	}{
		{"at first", granted, "9", 1}, {"a minute later", granted, "9", 0}, {"another state", refused, "9", 1},
		{"of a CR that has changed", refused, "10", 1}, {"a minute after that", refused, "10", 0},
	} {
		each := one(t, intel.WorkloadState{})
		each.object.SetResourceVersion(row.version)
		if err := c.workloads.GetStore().Add(each.object); err != nil {
			t.Fatal(err)
		}
		writes = 0
		if err := c.writeState(t.Context(), each, row.state); !apierrors.IsInvalid(err) || writes != row.writes {
			t.Errorf("%s: %d writes, %v, want %d", row.moment, writes, err, row.writes)
		}
	}
}
