package containers

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"nrd.internal/kubernetes/internal/health"
	"nrd.internal/kubernetes/internal/nrd"
	"nrd.internal/kubernetes/internal/testservers"
)

// fakeRuntime records the cpusets requested of it.
type fakeRuntime struct {
	stub.Stub
	cpus map[string]string
	err  error
}

func (r *fakeRuntime) UpdateContainers(updates []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) {
	for _, update := range updates {
		r.cpus[update.ContainerId] = update.GetLinux().GetResources().GetCpu().GetCpus()
	}
	return nil, r.err
}

func TestARuntimeThatDoesNotAnswerAnUpdateIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlugin(nil, nil, thisMachine{}, nil, "nokia.k8s.io", true, &health.Metrics{})
		var connection stub.Stub = silentRuntime{disconnected: make(chan struct{})}
		p.connection.Store(&connection)
		p.book.confined["1"] = ""
		if err := p.move(t.Context(), map[string]string{"1": "2-3"}); !errors.Is(err, stub.ErrNoService) || p.book.confined["1"] != "" {
			t.Errorf("%v, CPUs %q, want a failure", err, p.book.confined["1"])
		}
	})
}

// silentRuntime does not answer before it is disconnected.
type silentRuntime struct {
	stub.Stub
	disconnected chan struct{}
}

func (r silentRuntime) UpdateContainers([]*api.ContainerUpdate) ([]*api.ContainerUpdate, error) {
	<-r.disconnected
	return nil, stub.ErrNoService
}

func (r silentRuntime) Stop() { close(r.disconnected) }

func connectTo(p *Plugin, runtime *fakeRuntime) {
	var connection stub.Stub = runtime
	p.connection.Store(&connection)
}

func (r *fakeRuntime) expect(t *testing.T, moment string, cpus map[string]string) {
	t.Helper()
	if !maps.Equal(r.cpus, cpus) {
		t.Errorf("%s: the runtime set %v, want %v", moment, r.cpus, cpus)
	}
	r.cpus = map[string]string{}
}

// beside an nrd with a default pool and another one.
func beside(t *testing.T, pool string) (*testservers.NRD, *Plugin, *fakeRuntime) {
	t.Helper()
	started := startNRD(t, common+pool)
	p, runtime := connectedPlugin(started.Client), &fakeRuntime{cpus: map[string]string{}}
	connectTo(p, runtime)
	return started, p, runtime
}

func TestRunningContainersFollowTheCPUsOfTheirGrants(t *testing.T) {
	started, p, runtime := beside(t, fast)
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	ways, exclusive := waysContainer("1", api.ContainerState_CONTAINER_RUNNING, 1), poolContainer("2")
	exclusive.Name = "d"
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{withCPUs(ways, "0-1"), withCPUs(exclusive, "4")})
	p.book.pauses = map[string]entry{}
	expect := func(moment string, cpus map[string]string) {
		t.Helper()
		if err := compare(t, p); err != nil && runtime.err == nil {
			t.Errorf("%s: %v", moment, err)
		}
		runtime.expect(t, moment, cpus)
	}
	expect("without a change", map[string]string{})
	started.Reload(strings.Replace(common, "0-1", "0", 1) + fast)
	runtime.err = stub.ErrNoService
	expect("the runtime fails", map[string]string{"1": "0"})
	runtime.err = nil
	expect("the pool has shrunk", map[string]string{"1": "0"})
	expect("nothing is changed twice", map[string]string{})
}

func TestAnotherDefaultPoolIsAnotherRequest(t *testing.T) {
	started, p, runtime := beside(t, other)
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	ways := waysContainer("1", api.ContainerState_CONTAINER_CREATED, 1)
	change, _, err := p.CreateContainer(t.Context(), pod, ways)
	if err != nil || change.GetLinux().GetResources().GetCpu().GetCpus() != "0-1" {
		t.Fatalf("%v, %v, want CPUs 0-1", change, err)
	}
	ways.Linux.Resources, ways.Pid = change.Linux.Resources, 7
	if err := p.StartContainer(t.Context(), pod, ways); err != nil {
		t.Fatal(err)
	}
	if err := p.PostStartContainer(t.Context(), pod, ways); err != nil {
		t.Fatal(err)
	}
	started.Reload(strings.Replace(common, `default_pool = "common"`, `default_pool = "other"`, 1) + other)
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	runtime.expect(t, "another default pool", map[string]string{"1": "2-3"})
	granted := started.Granted("k8s.pod.c")
	if granted.CPURequest[0].Pool != "other" || granted.Labels[processLabel] != "7" {
		t.Errorf("%+v, want pool other and the process", granted)
	}
}

// withCPUs is what the runtime has of a container with a cpuset.
func withCPUs(container *api.Container, cpus string) *api.Container {
	container.Linux.Resources = &api.LinuxResources{Cpu: &api.LinuxCPU{Cpus: cpus}}
	return container
}

// plainContainer of pod "pod" requests nothing.
func plainContainer(id string) *api.Container {
	return &api.Container{Id: id, PodSandboxId: "sandbox", Name: "plain", State: api.ContainerState_CONTAINER_RUNNING, Linux: &api.LinuxContainer{}}
}

func TestContainersKeepTheCPUsOfKubeletsCPUManager(t *testing.T) {
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	for _, row := range []struct {
		name    string
		kubelet noContainers
		cpus    map[string]string
	}{
		{"policy none", noContainers{}, map[string]string{"1": "0-1", "2": "0-1"}},
		{"another policy", noContainers{cpus: []int64{1, 2, 3}}, map[string]string{}},
		{"kubelet is away", noContainers{err: errors.New("away")}, map[string]string{}},
	} {
		_, p, runtime := beside(t, fast)
		p.kubelet = &Kubelet{lister: row.kubelet}
		ways := withCPUs(waysContainer("1", api.ContainerState_CONTAINER_RUNNING, 1), "3")
		p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{ways, withCPUs(plainContainer("2"), "2")})
		if err := compare(t, p); !errors.Is(err, row.kubelet.err) {
			t.Errorf("%s: %v", row.name, err)
		}
		runtime.expect(t, row.name, row.cpus)
	}
}

func TestACreatedContainerKeepsTheCPUsOfKubeletsCPUManager(t *testing.T) {
	started, p, runtime := beside(t, fast)
	p.kubelet = &Kubelet{lister: noContainers{cpus: []int64{1, 2, 3}}}
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	ways := withCPUs(waysContainer("1", api.ContainerState_CONTAINER_CREATED, 1), "3")
	for _, container := range []*api.Container{ways, withCPUs(plainContainer("2"), "2")} {
		change, _, err := p.CreateContainer(t.Context(), pod, container)
		if err != nil || change.GetLinux().GetResources().GetCpu() != nil {
			t.Errorf("%s: %v, %v, want no CPUs", container.Name, change, err)
		}
	}
	if err := p.StartContainer(t.Context(), pod, ways); err != nil {
		t.Fatal(err)
	}
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	runtime.expect(t, "the comparison", map[string]string{})
	if granted := started.Granted("k8s.pod.c"); granted == nil || granted.RDT.Cache == nil {
		t.Errorf("granted %+v, want its way", granted)
	}
}

func TestAnUpdateByKubeletChangesTheCPUsOfNoPool(t *testing.T) {
	_, p, _ := beside(t, fast)
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	asks, ways := withCPUs(poolContainer("1"), "4"), withCPUs(waysContainer("2", api.ContainerState_CONTAINER_RUNNING, 1), "3")
	asks.Name = "d"
	unread := withCPUs(poolContainer("3"), "4")
	unread.Name = "e"
	pod.Annotations = map[string]string{"e_cache_min": "1.5"}
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{asks, ways, unread, withCPUs(plainContainer("4"), "2")})
	for _, row := range []struct{ container, cpus, kept string }{
		{"1", "0-3", "4"}, {"1", "", ""}, {"2", "0-3", ""}, {"3", "0-3", "4"}, {"4", "0-3", ""}, {"5", "0-3", ""},
	} {
		wanted := &api.LinuxResources{Cpu: &api.LinuxCPU{Cpus: row.cpus}}
		updates, err := p.UpdateContainer(t.Context(), pod, &api.Container{Id: row.container}, wanted)
		kept := ""
		for _, each := range updates {
			kept += each.ContainerId + ":" + each.GetLinux().GetResources().GetCpu().GetCpus()
		}
		if want := row.container + ":" + row.kept; err != nil || (kept != "" || row.kept != "") && kept != want {
			t.Errorf("%+v: %q, %v", row, kept, err)
		}
	}
	if updates, err := p.UpdateContainer(t.Context(), pod, asks, &api.LinuxResources{}); err != nil || updates != nil {
		t.Errorf("a resize: %v, %v", updates, err)
	}
}

func TestRequestsForCPUsAreComparedByWhatTheyAskFor(t *testing.T) {
	wanted := []nrd.CPURequest{{Pool: "fast", CPUs: "4,5", Enforce: "runtime"}, {Pool: "common", RequestMilli: 500}}
	for _, row := range []struct {
		name  string
		found nrd.OneOrMore[nrd.CPURequest]
		same  bool
	}{
		{"the same", nrd.OneOrMore[nrd.CPURequest]{{Pool: "fast", CPUs: "4-5", Enforce: "runtime"}, {Pool: "common", RequestMilli: 500}}, true},
		{"other CPUs", nrd.OneOrMore[nrd.CPURequest]{{Pool: "fast", CPUs: "4-6", Enforce: "runtime"}, {Pool: "common", RequestMilli: 500}}, false},
		{"another amount", nrd.OneOrMore[nrd.CPURequest]{{Pool: "fast", CPUs: "4-5", Enforce: "runtime"}, {Pool: "common", RequestMilli: 400}}, false},
		{"fewer pools", nrd.OneOrMore[nrd.CPURequest]{{Pool: "fast", CPUs: "4-5", Enforce: "runtime"}}, false},
		{"none", nil, false},
	} {
		if same := hasSameCPUs(wanted, row.found); same != row.same {
			t.Errorf("%s: %v, want %v", row.name, same, row.same)
		}
	}
	if !hasSameCPUs(nil, nrd.OneOrMore[nrd.CPURequest]{{Pool: "common"}}) {
		t.Error("a request without CPUs has nrd's default pool: want the same")
	}
}

func TestAGrantWithoutCPUsChangesNoCpuset(t *testing.T) {
	b := newBook()
	asks := entryFor("pod", "1", "/1")
	asks.request.CPU, asks.cpus = []nrd.CPURequest{{Pool: "common", RequestMilli: 500}}, "0-1"
	asks.runs = true
	b.put(asks)
	for cpus, moved := range map[string]map[string]string{"0": {"1": "0"}, "0-1": {}, "": {}} {
		granted := nrd.Workload{ID: "k8s.pod.c", Cgroup: "/1", CPU: nrd.OneOrMore[nrd.CPUGrant]{{Pool: "common", CPUs: cpus}}}
		if found := b.outdated([]nrd.Workload{granted}, asksForCPUs); !maps.Equal(found, moved) {
			t.Errorf("granted %q: %v, want %v", cpus, found, moved)
		}
	}
}

// The runtime sends all containers at a connection: the one that it is creating then is not among them.
func TestAContainerThatTheClientDidNotSeeCreatedHasTheDefaultPool(t *testing.T) {
	_, p, runtime := beside(t, fast)
	if err := p.PostStartContainer(t.Context(), &api.PodSandbox{Id: "sandbox", Uid: "pod"}, plainContainer("1")); err != nil {
		t.Fatal(err)
	}
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	runtime.expect(t, "after a comparison", map[string]string{"1": "0-1"})
}

func TestAContainerIsNotChangedBeforeItRuns(t *testing.T) {
	started, p, runtime := beside(t, fast)
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod"}
	plain, ways := plainContainer("1"), waysContainer("2", api.ContainerState_CONTAINER_CREATED, 1)
	plain.State = api.ContainerState_CONTAINER_CREATED
	p.client = nrd.New("/nowhere") // away as the former is created
	if change, _, err := p.CreateContainer(t.Context(), pod, plain); err != nil || change != nil {
		t.Fatalf("%v, %v, want no change", change, err)
	}
	p.client = started.Client
	change, _, err := p.CreateContainer(t.Context(), pod, ways)
	if err != nil {
		t.Fatal(err)
	}
	ways.Linux.Resources = change.Linux.Resources
	started.Reload(strings.Replace(common, "0-1", "0", 1) + fast)
	for _, each := range []*api.Container{plain, ways} {
		if err := compare(t, p); err != nil {
			t.Fatal(err)
		}
		if err := p.StartContainer(t.Context(), pod, each); err != nil {
			t.Fatal(err)
		}
	}
	runtime.expect(t, "before they run", map[string]string{})
	for _, each := range []*api.Container{plain, ways} {
		if err := p.PostStartContainer(t.Context(), pod, each); err != nil {
			t.Fatal(err)
		}
	}
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	runtime.expect(t, "once they run", map[string]string{"1": "0", "2": "0"})
}

func TestAContainerThatAsksForNothingStartsHoweverLongTheTurnTakes(t *testing.T) {
	p := connectedPlugin(nrd.New("/nowhere"))
	p.await()
	if err := p.StartContainer(t.Context(), &api.PodSandbox{Id: "sandbox", Uid: "pod"}, plainContainer("1")); err != nil {
		t.Error(err)
	}
}
