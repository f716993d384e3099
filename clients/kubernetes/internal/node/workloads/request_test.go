package workloads

import (
	"reflect"
	"strings"
	"testing"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/nrd"
)

func TestASelectorHasPrecedenceOverNames(t *testing.T) {
	labels := map[string]string{"rack": "x"}
	for _, row := range []struct {
		spec    intel.WorkloadSpec
		selects bool
	}{
		{intel.WorkloadSpec{Nodes: []string{"n"}}, true},
		{intel.WorkloadSpec{Nodes: []string{"m"}}, false},
		{intel.WorkloadSpec{NodeSelector: labels}, true},
		{intel.WorkloadSpec{Nodes: []string{"n"}, NodeSelector: map[string]string{"rack": "y"}}, false},
		{intel.WorkloadSpec{NodeSelector: map[string]string{"rack": "x", "row": ""}}, false},
		{intel.WorkloadSpec{}, false},
	} {
		if found := selects(row.spec, "n", labels); found != row.selects {
			t.Errorf("%+v: %v, want %v", row.spec, found, row.selects)
		}
	}
}

func TestBothGenerationsAreOneRequest(t *testing.T) {
	cache := &nrd.Cache{Max: 2, Min: 2}
	pstate := &intel.PState{Ratio: "3.0", Monitoring: "on"}
	old, err := requestOf(intel.WorkloadSpec{CoreIDs: []string{"4"}, Cache: cache, PState: pstate}, "0-7")
	if err != nil {
		t.Fatal(err)
	}
	next, err := requestOf(intel.WorkloadSpec{CoreIDs: []string{"4"}, RDT: &nrd.RDT{Cache: cache}, Plugins: &intel.Plugins{PState: pstate}}, "0-7")
	if err != nil || !reflect.DeepEqual(old, next) {
		t.Errorf("%+v, %+v, %v", old, next, err)
	}
	if next.Plugins.PState.Ratio != 3 || *next.RDT.Cache != (nrd.Cache{Max: 2, Min: 2}) {
		t.Errorf("%+v", next)
	}
}

func TestAllCoresAreThoseOfTheCachesWithoutTheReserved(t *testing.T) {
	request, err := requestOf(intel.WorkloadSpec{AllCores: true, CoreIDs: []string{"4"}, ReservedCoreIDs: []string{"0-1, 8", "3"}}, "0-7,8-15")
	if want := []string{"0-7,8-15", "^0-1", "^8", "^3"}; err != nil || !reflect.DeepEqual(request.CoreIDs, want) {
		t.Errorf("%v, %v, want %v", request.CoreIDs, err, want)
	}
}

func TestARatioThatIsNoNumberIsRefused(t *testing.T) {
	for _, text := range []string{"x", "-1", "0", "NaN", "Inf"} {
		if _, err := requestOf(intel.WorkloadSpec{PState: &intel.PState{Ratio: text}}, ""); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

func TestARefusalOfAnyLengthIsShown(t *testing.T) {
	refusal := &nrd.Refusal{Detail: strings.Repeat("ä", 5000)}
	if response := stateOf(nrd.Workload{}, refusal).Response; len(response) > 4096 || len(response) < 4095 {
		t.Errorf("%d bytes, the CRD accepts 4096", len(response))
	}
}
