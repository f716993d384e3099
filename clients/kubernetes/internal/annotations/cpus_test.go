package annotations

import (
	"fmt"
	"strings"
	"testing"
)

const key = "nokia.k8s.io/cpus"

// sample of CPU Pooler's annotation.
const sample = `[{"container": "main", "processes": [
	{"process": "/bin/feed", "args": ["-v"], "pool": "fast", "cpus": 2}, {"process": "log", "pool": "common", "cpus": 500}]},
	{"container": "side", "processes": [{"process": "log", "pool": "common", "cpus": 100}]}]`

var known = Pools{"fast": {IsExclusive: true, CPUs: 4, CPUsOfDevice: 1}, "common": {CPUs: 2, CPUsOfDevice: 1},
	"both": {IsExclusive: true, CPUs: 1, CPUsOfDevice: 1, IsMixed: true}}

func TestTheCPUsOfEachContainerAreRead(t *testing.T) {
	containers, err := ReadCPUs(key, sample)
	if err != nil || len(containers) != 2 {
		t.Fatalf("%+v, %v", containers, err)
	}
	main, found := Find(containers, "main")
	if sums := main.Sums(); !found || sums["fast"] != 2 || sums["common"] != 500 || len(sums) != 2 {
		t.Errorf("%v", sums)
	}
	if _, found := Find(containers, "mai"); found {
		t.Error("a part of a name is not the name")
	}
}

func processes(members string) string {
	return `[{"container": "main", "processes": [` + members + `]}]`
}

func TestAnAnnotationOfCPUsThatIsWrongIsRefusedWithItsPointer(t *testing.T) {
	const cpus = "expected a whole number from 1 to 1000000: CPUs of an exclusive pool, thousandths of a CPU of a shared one"
	for _, row := range []struct{ text, refusal string }{
		{``, "/: not JSON (EOF); expected " + form},
		{`[`, "/: not JSON (unexpected EOF)"},
		{`[] []`, "/: not JSON (more follows after the list)"},
		{`{}`, "/: not a list; expected a list of 1 to 1024"},
		{`null`, "/: missing"},
		{`[]`, "/: has 0 items"},
		{`[1]`, "/0: not an object; expected an object with container, processes"},
		{`[{"container": "main"}]`, "/0/processes: missing"},
		{`[{"processes": []}]`, "/0/container: missing; expected a string"},
		{`[{"container": "", "processes": []}]`, "/0/container: not a string of at least one character"},
		{`[{"container": 5, "processes": []}]`, "/0/container: not a string of at least one character"},
		{`[{"container": "main", "processes": []}]`, "/0/processes: has 0 items"},
		{`[{"container": "main", "process": []}]`, `/0: unknown member "process"; expected container, processes`},
		{processes(`{"pool": "fast", "cpus": 1}`), "/0/processes/0/process: missing"},
		{processes(`{"process": "/a", "cpus": 1}`), "/0/processes/0/pool: missing"},
		{processes(`{"process": "/a", "pool": "fast"}`), "/0/processes/0/cpus: missing; " + cpus},
		{processes(`{"process": "/a", "pool": "fast", "cpus": 0}`), "/0/processes/0/cpus: 0 is out of range; " + cpus},
		{processes(`{"process": "/a", "pool": "fast", "cpus": -1}`), "/0/processes/0/cpus: -1 is out of range"},
		{processes(`{"process": "/a", "pool": "fast", "cpus": 1.5}`), "/0/processes/0/cpus: 1.5 is out of range; " + cpus},
		{processes(`{"process": "/a", "pool": "fast", "cpus": 1e99}`), "/0/processes/0/cpus: 1e99 is out of range"},
		{processes(`{"process": "/a", "pool": "fast", "cpus": 1000001}`), "/0/processes/0/cpus: 1000001 is out of range"},
		{processes(`{"process": "/a", "pool": "fast", "cpus": "1"}`), "/0/processes/0/cpus: not a number"},
		{processes(`{"process": "/a", "args": "-v", "pool": "fast", "cpus": 1}`), "/0/processes/0/args: not a list"},
		{processes(`{"process": "/a", "args": ["-v", 1], "pool": "fast", "cpus": 1}`), "/0/processes/0/args/1: not a string"},
		{processes(strings.Repeat(`{"process": "/a", "pool": "fast", "cpus": 1},`, 64) + `{}`), "/0/processes: has 65 items; expected a list of 1 to 64"},
		{strings.Replace(sample, "side", "main", 1), `/1/container: "main" occurs a second time; expected each container once`},
		{strings.Repeat(" ", mostText) + "[]", "/: 262146 bytes are too many; expected at most 262144"},
	} {
		_, err := ReadCPUs(key, row.text)
		if err == nil || !strings.HasPrefix(err.Error(), "annotation "+key+": "+row.refusal) || !strings.Contains(err.Error(), "; expected ") {
			t.Errorf("%.100s: %v, want %q", row.text, err, row.refusal)
		}
	}
}

func TestAnErrorRepeatsALimitedPartOfItsInput(t *testing.T) {
	_, err := ReadCPUs(key, processes(fmt.Sprintf(`{"process": "/a", "pool": "fast", "cpus": 1, "%s": 1}`, strings.Repeat("ü", 1000))))
	if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "…") {
		t.Errorf("%v", err)
	}
}

func TestAContainerThatIsNotThereIsRefused(t *testing.T) {
	containers, err := ReadCPUs(key, sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckContainers(containers, []string{"side", "main"}); err != nil {
		t.Error(err)
	}
	err = CheckContainers(containers, []string{"main", "init"})
	if want := `annotation nokia.k8s.io/cpus: /1/container: the pod has no container "side"; expected one of main, init`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestProcessesHaveToMatchWhatTheContainerRequests(t *testing.T) {
	requests := func(fast, common int64) map[string]int64 { return map[string]int64{"fast": fast, "common": common} }
	for _, row := range []struct {
		pool      string
		cpus      int64
		requested map[string]int64
		refusal   string // empty: accepted
	}{
		{"fast", 2, requests(2, 500), ""},
		{"fast", 1, requests(2, 500), ""},
		{"fast", 4, requests(2, 500), ""}, // whole cores
		{"fast", 5, requests(2, 500), "/0/processes: 5 CPUs of pool fast, but the container requests 2; expected at most 4"},
		{"common", 500, requests(2, 500), ""},
		{"common", 499, requests(2, 500), "/0/processes: 499 thousandths of a CPU of pool common, but the container requests 500; expected equal numbers"},
		{"fast", 1, map[string]int64{"common": 5}, "/0/processes/0/pool: the container does not request nokia.k8s.io/fast; expected a pool of its resources.limits"},
		{"fast", 1, nil, "/0/processes/0/pool: the container does not request nokia.k8s.io/fast"},
		{"slow", 1, requests(2, 500), `/0/processes/0/pool: unknown pool "slow"; expected one of both, common, fast`},
		{"both", 1, requests(2, 500), `/0/processes/0/pool: pool "both" is exclusive on some nodes and shared on others`},
	} {
		containers, err := ReadCPUs(key, processes(fmt.Sprintf(`{"process": "/a", "pool": %q, "cpus": %d}`, row.pool, row.cpus)))
		if err != nil {
			t.Fatal(err)
		}
		err = containers[0].CheckRequests("nokia.k8s.io", row.requested, known)
		if row.refusal == "" && err != nil || row.refusal != "" && (err == nil || !strings.HasPrefix(err.Error(), "annotation "+key+": "+row.refusal)) {
			t.Errorf("%s %d of %v: %v, want %q", row.pool, row.cpus, row.requested, err, row.refusal)
		}
	}
}

func TestAPoolOfSeveralNodesHasTheLargestSize(t *testing.T) {
	pools := Pools{}
	pools.Add("a", Pool{CPUs: 4, CPUsOfDevice: 1})
	pools.Add("a", Pool{CPUs: 8, CPUsOfDevice: 1})
	pools.Add("a", Pool{CPUs: 2, CPUsOfDevice: 1})
	pools.Add("b", Pool{CPUs: 1, CPUsOfDevice: 1})
	pools.Add("b", Pool{CPUs: 1, CPUsOfDevice: 2, IsExclusive: true})
	pools.Add("b", Pool{CPUs: 1, CPUsOfDevice: 2, IsExclusive: true})
	if pools["a"].CPUs != 8 || pools["a"].IsMixed || !pools["b"].IsMixed {
		t.Errorf("%+v", pools)
	}
}

func FuzzReadCPUs(f *testing.F) {
	f.Add(sample)
	f.Add(`[{"container":"a","processes":[{"process":"a","pool":"b","cpus":1.5}]}]`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		containers, err := ReadCPUs(key, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "annotation "+key+": /") {
				t.Errorf("%q: no pointer in %v", text, err)
			}
			return
		}
		for _, each := range containers {
			for pool, sum := range each.Sums() {
				if sum < 1 || sum > mostProcesses*mostCPUs {
					t.Errorf("%q: %s has %d", text, pool, sum)
				}
			}
			_ = each.CheckRequests("nokia.k8s.io", map[string]int64{"fast": 1}, known)
		}
	})
}
