package webhook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nrd.internal/kubernetes/internal/annotations"
)

// pools of the samples: cpupool1 and sharedpool are of CPU Pooler 0.1, the others of its later versions.
var pools = annotations.Pools{
	"cpupool1": {IsExclusive: true, CPUs: 2, CPUsOfDevice: 1}, "sharedpool": {CPUs: 1, CPUsOfDevice: 1},
	"exclusive_caas": {IsExclusive: true, CPUs: 4, CPUsOfDevice: 1}, "exclusive_cores": {IsExclusive: true, CPUs: 8, CPUsOfDevice: 2},
	"shared_caas": {CPUs: 3, CPUsOfDevice: 1},
}

var rules = Rules{Base: "nokia.k8s.io", Quotas: QuotasAll}

// podOf reads a pod: its annotations, and its spec.
func podOf(t *testing.T, all map[string]string, spec string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	pod.Annotations = all
	if err := json.Unmarshal([]byte(spec), &pod.Spec); err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	return pod
}

func cpusAnnotation(text string) map[string]string {
	return map[string]string{"nokia.k8s.io/cpus": text}
}

// volumes that the starter needs.
const volumes = `{"op": "add", "path": "/spec/volumes", "value": [{"name": "podinfo", "downwardAPI": {"items": [
	{"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}},
	{"path": "cpus", "fieldRef": {"fieldPath": "metadata.annotations['nokia.k8s.io/cpus']"}}]}}]},
	{"op": "add", "path": "/spec/volumes/-", "value": {"name": "hostbin", "hostPath": {"path": "/opt/bin", "type": "Directory"}}}`

func mounts(container string) string {
	return fmt.Sprintf(`{"op": "add", "path": "%[1]s/volumeMounts", "value": [{"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": true}]},
	{"op": "add", "path": "%[1]s/volumeMounts/-", "value": {"name": "hostbin", "mountPath": "/opt/bin", "readOnly": true}}`, container)
}

func TestSamplePodsOfCPUPoolerGetWhatItsContractsSay(t *testing.T) {
	for _, row := range []struct {
		name       string
		annotation string
		spec       string
		patch      string
	}{
		{"old contract: the webhook makes the requests and sets the command",
			`[{"container": "cputestcontainer", "processes": [{"process": "/thread_busyloop", "args": ["-n", "Process-1"], "pool": "cpupool1", "cpus": 1},
				{"process": "/thread_busyloop", "args": ["-n", "Process-2"], "pool": "cpupool1", "cpus": 1}]}]`,
			`{"containers": [{"name": "other", "image": "o"}, {"name": "cputestcontainer", "image": "i", "args": ["ignored"]}]}`,
			`[` + volumes + `,` + mounts("/spec/containers/1") + `,
			{"op": "add", "path": "/spec/containers/1/env", "value": [{"name": "CONTAINER_NAME", "value": "cputestcontainer"}]},
			{"op": "add", "path": "/spec/containers/1/command", "value": ["/opt/bin/nrdctl", "run", "--processes", "/etc/podinfo/cpus"]},
			{"op": "remove", "path": "/spec/containers/1/args"},
			{"op": "add", "path": "/spec/containers/1/resources", "value": {"limits": {"cpu": "2100m", "nokia.k8s.io/cpupool1": "2"}, "requests": {"cpu": "0m"}}},
			{"op": "add", "path": "/spec/containers/1/env/-", "value": {"name": "CPU_POOLS", "value": "exclusive"}}]`},
		{"old contract, shared: the limit of CPU time is the sum",
			`[{"container": "main", "processes": [{"process": "/a", "pool": "sharedpool", "cpus": 160}, {"process": "/b", "pool": "sharedpool", "cpus": 40}]}]`,
			`{"containers": [{"name": "main", "resources": {"limits": {"memory": "64Mi"}}, "env": [{"name": "X", "value": "y"}], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
			  "volumes": [{"name": "data", "emptyDir": {}}]}`,
			`[{"op": "add", "path": "/spec/volumes/-", "value": {"name": "podinfo", "downwardAPI": {"items": [
				{"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}},
				{"path": "cpus", "fieldRef": {"fieldPath": "metadata.annotations['nokia.k8s.io/cpus']"}}]}}},
			{"op": "add", "path": "/spec/volumes/-", "value": {"name": "hostbin", "hostPath": {"path": "/opt/bin", "type": "Directory"}}},
			{"op": "add", "path": "/spec/containers/0/volumeMounts/-", "value": {"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": true}},
			{"op": "add", "path": "/spec/containers/0/volumeMounts/-", "value": {"name": "hostbin", "mountPath": "/opt/bin", "readOnly": true}},
			{"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "CONTAINER_NAME", "value": "main"}},
			{"op": "add", "path": "/spec/containers/0/command", "value": ["/opt/bin/nrdctl", "run", "--processes", "/etc/podinfo/cpus"]},
			{"op": "add", "path": "/spec/containers/0/resources/limits/cpu", "value": "200m"},
			{"op": "add", "path": "/spec/containers/0/resources/limits/nokia.k8s.io~1sharedpool", "value": "200"},
			{"op": "add", "path": "/spec/containers/0/resources/requests", "value": {"cpu": "0m"}},
			{"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "CPU_POOLS", "value": "shared"}}]`},
		{"new contract: the requests are there and match; the last process takes the place of the starter",
			`[{"container": "main", "processes": [{"process": "/a", "pool": "exclusive_caas", "cpus": 1}, {"process": "/b", "pool": "shared_caas", "cpus": 2000}]}]`,
			`{"containers": [{"name": "main", "command": ["/entry"], "args": ["-x"], "resources": {
				"limits": {"nokia.k8s.io/exclusive_caas": "1", "nokia.k8s.io/shared_caas": "2k"}, "requests": {"nokia.k8s.io/exclusive_caas": "1"}}}]}`,
			`[` + volumes + `,` + mounts("/spec/containers/0") + `,
			{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "CONTAINER_NAME", "value": "main"}]},
			{"op": "add", "path": "/spec/containers/0/command", "value": ["/opt/bin/nrdctl", "run", "--processes", "/etc/podinfo/cpus", "--exec-last"]},
			{"op": "remove", "path": "/spec/containers/0/args"},
			{"op": "add", "path": "/spec/containers/0/resources/limits/cpu", "value": "4000m"},
			{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "0m"},
			{"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "CPU_POOLS", "value": "exclusive&shared"}}]`},
		{"new contract without the annotation: no starter, because the CPUs are there before the process", "",
			`{"containers": [{"name": "main", "command": ["/entry"], "resources": {"limits": {"nokia.k8s.io/shared_caas": "160"}}, "env": [{"name": "CPU_POOLS", "value": "mine"}]}]}`,
			`[{"op": "add", "path": "/spec/containers/0/resources/limits/cpu", "value": "160m"},
			{"op": "add", "path": "/spec/containers/0/resources/requests", "value": {"cpu": "0m"}},
			{"op": "replace", "path": "/spec/containers/0/env/0", "value": {"name": "CPU_POOLS", "value": "shared"}}]`},
		{"whole cores have two CPUs", "",
			`{"initContainers": [{"name": "main", "resources": {"limits": {"nokia.k8s.io/exclusive_cores": "2"}}}]}`,
			`[{"op": "add", "path": "/spec/initContainers/0/resources/limits/cpu", "value": "4100m"},
			{"op": "add", "path": "/spec/initContainers/0/resources/requests", "value": {"cpu": "0m"}},
			{"op": "add", "path": "/spec/initContainers/0/env", "value": [{"name": "CPU_POOLS", "value": "exclusive"}]}]`},
		{"no pool: untouched", "", `{"containers": [{"name": "main", "resources": {"limits": {"cpu": "1", "other.io/gpu": "1"}}}]}`, `null`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var all map[string]string
			if row.annotation != "" {
				all = cpusAnnotation(row.annotation)
			}
			patch, err := rules.Mutate(podOf(t, all, row.spec), pools)
			if err != nil {
				t.Fatal(err)
			}
			expectPatch(t, patch, row.patch)
		})
	}
}

func expectPatch(t *testing.T, patch Patch, wanted string) {
	t.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	var found, expected any
	if err := json.Unmarshal([]byte(wanted), &expected); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &found); err != nil || !reflect.DeepEqual(found, expected) {
		t.Errorf("found  %s\nwanted %s", text, wanted)
	}
}

func TestAnotherStarterGetsTheCommandAsItsArguments(t *testing.T) {
	others := Rules{Base: "nokia.k8s.io", Starter: "/opt/cpu/process-starter", Quotas: QuotasNone}
	patch, err := others.Mutate(podOf(t, cpusAnnotation(`[{"container": "main", "processes": [{"process": "/a", "pool": "exclusive_caas", "cpus": 1}]}]`),
		`{"containers": [{"name": "main", "command": ["/entry"], "args": ["-x"], "resources": {"limits": {"nokia.k8s.io/exclusive_caas": "1"}}}]}`), pools)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(patch)
	for _, part := range []string{`/command","value":["/opt/cpu/process-starter"]`, `/args","value":["/entry","-x"]`,
		`"hostPath":{"path":"/opt/cpu/process-starter","type":"File"}`, `"mountPath":"/opt/cpu/process-starter"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(string(text), `limits/cpu`) {
		t.Errorf("a limit with --cfs-quotas none: %s", text)
	}
}

func TestAnotherBaseNamesResourcesAndAnnotation(t *testing.T) {
	others := Rules{Base: "example.com", Quotas: QuotasNone}
	const listed = `[{"container": "main", "processes": [{"process": "/a", "pool": "shared_caas", "cpus": 7}]}]`
	patch, err := others.Mutate(podOf(t, map[string]string{"example.com/cpus": listed, "nokia.k8s.io/cpus": "["},
		`{"containers": [{"name": "main"}, {"name": "side", "resources": {"limits": {"nokia.k8s.io/gone": "1"}}}]}`), pools)
	text, _ := json.Marshal(patch)
	for _, part := range []string{`"limits":{"example.com/shared_caas":"7"}`, `metadata.annotations['example.com/cpus']`} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s, %v", part, text, err)
		}
	}
	if strings.Contains(string(text), "nokia") {
		t.Errorf("another base is read: %s", text)
	}
}

func TestAPodThatWasChangedBeforeIsNotChangedAgain(t *testing.T) {
	patch, err := rules.Mutate(podOf(t, cpusAnnotation(`[{"container": "main", "processes": [{"process": "/a", "pool": "exclusive_caas", "cpus": 1}]}]`),
		`{"volumes": [{"name": "podinfo", "downwardAPI": {"items": []}}, {"name": "hostbin", "hostPath": {"path": "/opt/bin"}}],
		  "containers": [{"name": "main", "command": ["/opt/bin/nrdctl", "run", "--processes", "/etc/podinfo/cpus"],
			"env": [{"name": "CONTAINER_NAME", "value": "main"}, {"name": "CPU_POOLS", "value": "exclusive"}],
			"volumeMounts": [{"name": "podinfo", "mountPath": "/etc/podinfo"}, {"name": "hostbin", "mountPath": "/opt/bin"}],
			"resources": {"limits": {"nokia.k8s.io/exclusive_caas": "1", "cpu": "1100m"}, "requests": {"cpu": "0"}}}]}`), pools)
	if err != nil {
		t.Fatal(err)
	}
	expectPatch(t, patch, `[{"op": "add", "path": "/spec/containers/0/resources/limits/cpu", "value": "1100m"},
		{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "0m"}]`)
}

func TestPodsThatAskForWhatCannotBeAreRefusedWithThePlace(t *testing.T) {
	const listed = `[{"container": "main", "processes": [{"process": "/a", "pool": "exclusive_caas", "cpus": 1}]}]`
	limits := func(name, amount string) string {
		return fmt.Sprintf(`{"containers": [{"name": "main", "resources": {"limits": {%q: %q}}}]}`, name, amount)
	}
	for _, row := range []struct {
		annotations map[string]string
		spec        string
		refusal     string
	}{
		{cpusAnnotation("{"), `{"containers": [{"name": "main"}]}`, "annotation nokia.k8s.io/cpus: /: not JSON"},
		{cpusAnnotation(listed), `{"containers": [{"name": "a"}, {"name": "b"}]}`, `annotation nokia.k8s.io/cpus: /0/container: the pod has no container "main"; expected one of a, b`},
		{cpusAnnotation(strings.Replace(listed, "exclusive_caas", "gone", 1)), `{"containers": [{"name": "main"}]}`, `annotation nokia.k8s.io/cpus: /0/processes/0/pool: unknown pool "gone"; expected one of cpupool1`},
		{cpusAnnotation(listed), limits("nokia.k8s.io/shared_caas", "5"), "annotation nokia.k8s.io/cpus: /0/processes/0/pool: the container does not request nokia.k8s.io/exclusive_caas"},
		{nil, limits("nokia.k8s.io/gone", "5"), `/spec/containers/0/resources/limits/nokia.k8s.io~1gone: unknown pool "gone"; expected one of`},
		{nil, limits("nokia.k8s.io/shared_caas", "1500m"), "/spec/containers/0/resources/limits/nokia.k8s.io~1shared_caas: 1500m is not a whole number; expected 0 to 1000000000"},
		{nil, limits("nokia.k8s.io/shared_caas", "1E"), "/spec/containers/0/resources/limits/nokia.k8s.io~1shared_caas: 1E is not a whole number"},
		{map[string]string{"main_cache_min": "1.5"}, limits("intel.com/l3_cache_ways", "2"), `annotation main_cache_min: "1.5" is not a whole number (allowed: 0 to 4294967295)`},
		{cpusAnnotation(listed), `{"containers": [{"name": "main"}], "volumes": [{"name": "podinfo", "emptyDir": {}}]}`, `/spec/volumes/0/name: "podinfo" is the name of a volume that the annotation nokia.k8s.io/cpus needs; expected another name`},
		{cpusAnnotation(listed), `{"containers": [{"name": "main", "volumeMounts": [{"name": "x", "mountPath": "/opt/bin/"}]}], "volumes": [{"name": "x", "emptyDir": {}}]}`,
			"/spec/containers/0/volumeMounts/0/mountPath: /opt/bin is where the process starter reads; expected another path"},
	} {
		_, err := rules.Mutate(podOf(t, row.annotations, row.spec), pools)
		if err == nil || !strings.HasPrefix(err.Error(), row.refusal) {
			t.Errorf("%v %s: %v, want %s", row.annotations, row.spec, err, row.refusal)
		}
	}
}

func TestRMDsAnnotationsAreReadOfContainersThatAskForSomething(t *testing.T) {
	listed := `[{"container": "main", "processes": [{"process": "/a", "pool": "cpupool1", "cpus": 1}]}]`
	for _, row := range []struct {
		name, cpus, limits string
		isRefused          bool
	}{
		{"ways", "", `"intel.com/l3_cache_ways": "1"`, true},
		{"no ways", "", `"intel.com/l3_cache_ways": "0"`, false},
		{"CPUs of a pool", "", `"nokia.k8s.io/cpupool1": "1"`, true},
		{"CPUs by the old contract", listed, "", true},
		{"nothing", "", "", false},
	} {
		all := map[string]string{"main_cache_min": "1.5"}
		if row.cpus != "" {
			all["nokia.k8s.io/cpus"] = row.cpus
		}
		_, err := rules.Mutate(podOf(t, all, `{"containers": [{"name": "main", "resources": {"limits": {`+row.limits+`}}}]}`), pools)
		if (err != nil) != row.isRefused || err != nil && !strings.HasPrefix(err.Error(), "annotation main_cache_min: ") {
			t.Errorf("%s: %v, want a refusal: %v", row.name, err, row.isRefused)
		}
	}
}

func TestTheAnnotationsOfResourcesAreFilledAsCRIResourceManagerDid(t *testing.T) {
	all := map[string]string{"intel.com/resources": "", "noderesource.dev/resources": "{}"}
	patch, err := rules.Mutate(podOf(t, all, `{"initContainers": [{"name": "first", "resources": {"requests": {"cpu": "1"}}}],
		"containers": [{"name": "main", "resources": {"limits": {"intel.com/l3_cache_ways": "2", "nokia.k8s.io/shared_caas": "1k"}}}]}`), pools)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"containers":{"main":{"limits":{"cpu":"1","intel.com/l3_cache_ways":"2","nokia.k8s.io/shared_caas":"1k"},` +
		`"requests":{"cpu":"0","intel.com/l3_cache_ways":"2","nokia.k8s.io/shared_caas":"1k"}}},"initContainers":{"first":{"requests":{"cpu":"1"}}}}`
	for i, path := range []string{"/metadata/annotations/intel.com~1resources", "/metadata/annotations/noderesource.dev~1resources"} {
		if found := patch[len(patch)-2+i]; found != (Operation{"add", path, text}) {
			t.Errorf("%+v, want %s at %s", found, text, path)
		}
	}
}

func TestQuotasFollowTheTable(t *testing.T) {
	const none = -1
	for _, row := range []struct {
		cpus        cpus
		all, shared int64
	}{
		{cpus{}, none, none},
		{cpus{sharedMilli: 160, sharedCPUs: 3}, 160, 160},
		{cpus{exclusive: 2}, 2100, none},
		{cpus{exclusive: 2, sharedMilli: 160, sharedCPUs: 3}, 5000, 160},
	} {
		for quotas, wanted := range map[Quotas]int64{QuotasAll: row.all, QuotasShared: row.shared, QuotasNone: none} {
			milli, isLimited := quotas.limit(row.cpus)
			if !isLimited {
				milli = none
			}
			if milli != wanted {
				t.Errorf("%s, %+v: %d, want %d", quotas, row.cpus, milli, wanted)
			}
		}
	}
	if _, err := ReadQuotas("some"); err == nil || !strings.Contains(err.Error(), "allowed: all, shared, none") {
		t.Errorf("%v", err)
	}
}

func TestAmountsAreReadInAllForms(t *testing.T) {
	for text, wanted := range map[string]int64{"2": 2, "2k": 2000, "2e3": 2000, "2E3": 2000, "1Ki": 1024, "3000m": 3, "0.002k": 2, "0": 0, "1G": mostAmount} {
		if amount, err := wholeAmount(resource.MustParse(text)); err != nil || amount != wanted {
			t.Errorf("%s: %d, %v, want %d", text, amount, err, wanted)
		}
	}
	for _, text := range []string{"1500m", "0.5", "-1", "2G", "9E", "1u", "9223372036854775808"} {
		if amount, err := wholeAmount(resource.MustParse(text)); err == nil {
			t.Errorf("%s: %d, want an error", text, amount)
		}
	}
}

func FuzzAmounts(f *testing.F) {
	for _, text := range []string{"2k", "1.5", "9E", "-1", "1e-9", "0.001k"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return // the API server refuses it
		}
		amount, err := wholeAmount(quantity)
		if err == nil && (amount < 0 || amount > mostAmount || quantity.CmpInt64(amount) != 0) {
			t.Errorf("%q: %d", text, amount)
		}
	})
}
