package containers

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/nrd"
)

func entryFor(pod, container, cgroup string) entry {
	return entry{identity: identity{podUID: pod, container: "c"}, container: container, request: nrd.Request{Cgroup: cgroup}}
}

func TestTheGrantEndsWithTheLastContainerOfItsWorkload(t *testing.T) {
	b := newBook()
	b.put(entryFor("pod", "first", "/1"))
	b.put(entryFor("pod", "second", "/2")) // after a restart; kubelet removes the first one later
	if wanted := b.wanted(); wanted["k8s.pod.c"].request.Cgroup != "/2" {
		t.Errorf("wanted: %+v", wanted)
	}
	if workload, ends := b.end("first"); ends {
		t.Errorf("%s ends with the container before the restart", workload)
	}
	if workload, ends := b.end("second"); !ends || workload != "k8s.pod.c" {
		t.Errorf("%s, %v", workload, ends)
	}
	if _, ends := b.end("second"); ends {
		t.Error("a container ends twice")
	}
}

func TestAGrantThatLastedIsRepairedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := book{entries: map[string]entry{"c": {}}}
		for range mostRepairs {
			b.countRepair("c")
		}
		if !b.entries["c"].endsEachTime() {
			t.Error("want no more repairs at once")
		}
		time.Sleep(lastingGrant)
		if b.entries["c"].endsEachTime() {
			t.Error("want a repair after a long time")
		}
		if b.countRepair("c"); b.entries["c"].endsEachTime() {
			t.Error("want one more")
		}
	})
}

func TestTheDifferenceIsWhatIsMissingAndWhatHasNoContainer(t *testing.T) {
	b := newBook()
	b.put(entryFor("same", "1", "/same"))
	b.put(entryFor("moved", "2", "/new"))
	b.put(entryFor("lost", "3", "/lost"))
	kept := entryFor("kept", "4", "")
	kept.unread = &unread{}
	b.put(kept)
	missing, extra := difference(b.wanted(), []nrd.Workload{
		{ID: "k8s.same.c", Cgroup: "/same"}, {ID: "k8s.moved.c", Cgroup: "/old"}, {ID: "k8s.kept.c", Cgroup: "/any"},
		{ID: "k8s.gone.c"}, {ID: "cr.default.one"}, {ID: "7"},
	})
	if !slices.Equal(missing, []string{"k8s.lost.c", "k8s.moved.c"}) || !slices.Equal(extra, []string{"k8s.gone.c"}) {
		t.Errorf("missing %v, extra %v", missing, extra)
	}
}

func TestPauseContainersAreWantedWhileThereIsADefaultPool(t *testing.T) {
	b := newBook()
	b.put(entryFor("pod", "1", "/1"))
	b.pauses["sandbox"] = entry{identity: identity{podUID: "pod"}, container: "sandbox"}
	if wanted := b.wanted(); len(wanted) != 1 {
		t.Errorf("without a default pool: %v", wanted)
	}
	b.defaultPool = "common"
	if wanted := b.wanted(); len(wanted) != 2 || !wanted["k8s.pod"].isPause() {
		t.Errorf("with a default pool: %v", wanted)
	}
}

func TestAPauseContainerIsACgroupOrAScopeOfSystemd(t *testing.T) {
	for specified, expected := range map[string]nrd.Request{
		"/kubepods/besteffort/pod1/abc":                     {Cgroup: "/kubepods/besteffort/pod1/abc"},
		"kubepods-besteffort-pod1.slice:cri-containerd:abc": {Unit: "cri-containerd-abc.scope"},
	} {
		found, err := pauseOf(&api.PodSandbox{Id: "abc", Uid: "1", Linux: &api.LinuxPodSandbox{CgroupsPath: specified}})
		if err != nil || found.request.Cgroup != expected.Cgroup || found.request.Unit != expected.Unit {
			t.Errorf("%s: %+v, %v", specified, found.request, err)
		}
	}
}

func TestSandboxesThatHaveEndedHaveNoPauseContainer(t *testing.T) {
	sandbox := func(id, uid string, pid uint32) *api.PodSandbox {
		return &api.PodSandbox{Id: id, Uid: uid, Pid: pid, Linux: &api.LinuxPodSandbox{CgroupsPath: "/" + id}}
	}
	p := connectedPlugin(nrd.New("/nowhere"))
	pods := []*api.PodSandbox{sandbox("former", "rebooted", 0), sandbox("newer", "rebooted", 7), sandbox("done", "completed", 0),
		sandbox("forgotten", "runs", 0)} // by a containerd that has restarted
	containers := []*api.Container{{Id: "1", PodSandboxId: "forgotten"}, {Id: "2", PodSandboxId: "done", State: api.ContainerState_CONTAINER_STOPPED}}
	for range 2 {
		slices.Reverse(pods)
		found := p.bookOf(t.Context(), pods, containers)
		found.defaultPool = "common"
		wanted := found.wanted()
		if len(wanted) != 2 || wanted["k8s.rebooted"].request.Cgroup != "/newer" || wanted["k8s.runs"].request.Cgroup != "/forgotten" {
			t.Errorf("%+v, want those of sandboxes newer and forgotten", wanted)
		}
	}
}

func TestTheDefaultPoolIsForThoseThatAskForNoCPUs(t *testing.T) {
	container := entryFor("pod", "1", "/1")
	if cpus := container.in("common").request.CPU; len(cpus) != 1 || cpus[0] != (nrd.CPURequest{Pool: "common", Enforce: "runtime"}) {
		t.Errorf("a container: %+v", cpus)
	}
	pause := entry{identity: identity{podUID: "pod"}, container: "sandbox"}
	if cpus := pause.in("common").request.CPU; len(cpus) != 1 || cpus[0] != (nrd.CPURequest{Pool: "common"}) {
		t.Errorf("a pause container, which nrd limits: %+v", cpus)
	}
	container.request.CPU = []nrd.CPURequest{{Pool: "fast", CPUs: "4"}}
	if cpus := container.in("common").request.CPU; len(cpus) != 1 || cpus[0].Pool != "fast" {
		t.Errorf("a container with CPUs: %+v", cpus)
	}
	if cpus := pause.in("").request.CPU; len(cpus) != 0 {
		t.Errorf("without a default pool: %+v", cpus)
	}
}
