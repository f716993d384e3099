package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWhatHasNoEffectIsNamed(t *testing.T) {
	const env = `"env": [{"name": "LANG", "value": "C"}, {"name": "SHARED_CPUS", "value": "7"}]`
	const told = "/spec/containers/0/env/1: the value of SHARED_CPUS has no effect: the node sets it"
	const asking = `"resources": {"limits": {"nokia.k8s.io/shared_caas": "500"}}`
	listed := cpusAnnotation(`[{"container": "main", "processes": [{"process": "/a", "pool": "shared_caas", "cpus": 500}]}]`)
	for _, row := range []struct {
		name        string
		annotations map[string]string
		members     string
		warnings    []string
	}{
		{"a container that asks", nil, env + "," + asking, []string{told}},
		{"one that the annotation lists", listed, env, []string{told}},
		{"one that asks for nothing", nil, env, nil},
		{"the workload of one with ways", nil, `"env": [{"name": "NRD_WORKLOAD", "value": "7"}, {"name": "NRD_CPUS", "value": "7"}], "resources": {"limits": {"intel.com/l3_cache_ways": "2"}}`,
			[]string{"/spec/containers/0/env/0: the value of NRD_WORKLOAD has no effect: the node sets it"}},
		{"least ways of one without", map[string]string{"main_cache_min": "1"}, asking, []string{"annotation main_cache_min has no effect: the container requests no cache ways"}},
		{"a policy of one that asks for nothing", map[string]string{"main_policy": "gold"}, env,
			[]string{"annotation main_policy has no effect: the container requests neither cache ways nor Onload nor CPUs of a pool"}},
		{"devices of the author", map[string]string{"nrd.internal/devices.pool-fast": "7"}, asking,
			[]string{"annotation nrd.internal/devices.pool-fast has no effect: kubelet tells the devices of containers"}},
	} {
		warnings := rules.Warnings(podOf(t, row.annotations, `{"containers": [{"name": "main", `+row.members+`}]}`))
		if !slices.Equal(warnings, row.warnings) {
			t.Errorf("%s: %q, want %q", row.name, warnings, row.warnings)
		}
	}
}

func TestTheNumberOfWarningsIsLimited(t *testing.T) {
	var containers []string
	for i := range 1000 {
		containers = append(containers, fmt.Sprintf(`{"name": "c%d", "env": [{"name": "NRD_CPUS"}], "resources": {"limits": {"nokia.k8s.io/shared_caas": "1"}}}`, i))
	}
	warnings := rules.Warnings(podOf(t, nil, `{"containers": [`+strings.Join(containers, ",")+`]}`))
	if len(warnings) != mostWarnings {
		t.Errorf("%d warnings, want %d", len(warnings), mostWarnings)
	}
}
