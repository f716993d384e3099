package containers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/nri/pkg/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
	"nrd.internal/kubernetes/internal/testservers"
)

func TestTheEndOfAFormerSandboxKeepsTheGrantsOfTheNewerOne(t *testing.T) {
	started := startNRD(t, "", "k8s.pod.c", "k8s.pod.d")
	p := connectedPlugin(started.Client)
	newer := entryFor("pod", "1", "/1")
	newer.sandbox = "newer"
	former := entryFor("pod", "2", "/2")
	former.identity.container, former.sandbox = "d", "former"
	p.book.put(newer)
	p.book.put(former)
	if err := p.RemovePodSandbox(t.Context(), &api.PodSandbox{Id: "former", Uid: "pod"}); err != nil {
		t.Fatal(err)
	}
	if started.Granted("k8s.pod.c") == nil || started.Granted("k8s.pod.d") != nil {
		t.Error("want k8s.pod.c alone to be left")
	}
}

func TestTheEndOfAContainerIsNotedHoweverLongTheTurnTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectedPlugin(nrd.New("/nowhere"))
		p.book.put(entryFor("pod", "1", "/1"))
		p.book.pauses["sandbox"] = entry{identity: identity{podUID: "pod"}, container: "sandbox"}
		p.await()
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // the runtime's
			defer cancel()
			_, _ = p.StopContainer(ctx, nil, &api.Container{Id: "1"})
			_ = p.RemovePodSandbox(ctx, &api.PodSandbox{Id: "sandbox"})
		}()
		time.Sleep(10 * time.Second)
		p.leave()
		synctest.Wait()
		if len(p.book.entries)+len(p.book.pauses) > 0 {
			t.Errorf("%+v, %+v, want none", p.book.entries, p.book.pauses)
		}
	})
}

func TestContainersAreUnknownBeforeTheRuntimeHasToldThem(t *testing.T) {
	p := connectedPlugin(nrd.New("/nowhere"))
	p.book = newBook()
	if list, err := p.Containers(); err == nil {
		t.Errorf("%v, want an error", list)
	}
	pods := []*api.PodSandbox{{Id: "sandbox", Uid: "pod"}}
	p.book = p.bookOf(t.Context(), pods, []*api.Container{waysContainer("1", api.ContainerState_CONTAINER_RUNNING, 1)})
	if list, err := p.Containers(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v, want one", list, err)
	}
}

// waysContainer of pod "pod" was given one way by kubelet.
func waysContainer(id string, state api.ContainerState, created int64) *api.Container {
	return &api.Container{Id: id, PodSandboxId: "sandbox", Name: "c", State: state, CreatedAt: created,
		Annotations: map[string]string{devices.AnnotationPrefix + "l3_cache_ways": `{"resource": "intel.com/l3_cache_ways", "ids": ["0"]}`},
		Linux:       &api.LinuxContainer{CgroupsPath: "/pod/" + id}}
}

func TestAStartedContainerWinsOverOneThatWasOnlyCreated(t *testing.T) {
	p := connectedPlugin(nrd.New("/nowhere"))
	pods := []*api.PodSandbox{{Id: "sandbox", Uid: "pod"}}
	created, running, stopped := api.ContainerState_CONTAINER_CREATED, api.ContainerState_CONTAINER_RUNNING, api.ContainerState_CONTAINER_STOPPED
	for _, row := range []struct {
		name       string
		containers []*api.Container
		counts     string
	}{
		{"created later", []*api.Container{waysContainer("1", running, 1), waysContainer("2", created, 2)}, "1"},
		{"created before", []*api.Container{waysContainer("1", created, 1), waysContainer("2", running, 2)}, "2"},
		{"two created", []*api.Container{waysContainer("2", created, 2), waysContainer("1", created, 1)}, "2"},
		{"stopped later", []*api.Container{waysContainer("1", created, 1), waysContainer("2", stopped, 2)}, "1"},
	} {
		found := p.bookOf(t.Context(), pods, row.containers)
		if e := found.wanted()["k8s.pod.c"]; len(found.entries) != 1 || e.container != row.counts || e.request.Cgroup != "/pod/"+row.counts {
			t.Errorf("%s: %+v, want container %s alone", row.name, found.entries, row.counts)
		}
	}
}

func TestNothingIsDeletedAtTheNRDOfAnotherMachine(t *testing.T) {
	for _, row := range []struct {
		machine   Machine
		isDeleted bool
	}{{thisMachine{}, true}, {unknownMachine{}, false}, {otherMachine{}, false}} {
		started := startNRD(t, "", "k8s.gone.c")
		p := connectedPlugin(started.Client)
		p.machine = row.machine
		if err := compare(t, p); (err != nil) != (row.machine == otherMachine{}) {
			t.Errorf("%T: %v", row.machine, err)
		}
		if (started.Granted("k8s.gone.c") == nil) != row.isDeleted {
			t.Errorf("%T: deleted %v, want %v", row.machine, !row.isDeleted, row.isDeleted)
		}
	}
}

func TestTheNRDOfAnotherMachineIsLeftAlone(t *testing.T) {
	started := startNRD(t, common, "k8s.pod.c")
	p := connectedPlugin(started.Client)
	p.machine = otherMachine{}
	pod, asks := &api.PodSandbox{Id: "sandbox", Uid: "pod"}, waysContainer("1", api.ContainerState_CONTAINER_CREATED, 1)
	if _, _, err := p.CreateContainer(t.Context(), pod, asks); err == nil || !strings.Contains(err.Error(), "machine id") {
		t.Errorf("creation: %v, want a refusal with the machine ids", err)
	}
	p.book.put(entry{identity: identity{podUID: "pod", container: "c"}, container: "1"})
	if err := p.StartContainer(t.Context(), pod, asks); err == nil || !strings.Contains(err.Error(), "machine id") {
		t.Errorf("start: %v, want a refusal with the machine ids", err)
	}
	if _, err := p.StopContainer(t.Context(), pod, asks); err != nil || started.Granted("k8s.pod.c") == nil {
		t.Errorf("end: %v, want the other node's workload to stay", err)
	}
	change, _, err := p.CreateContainer(t.Context(), pod, &api.Container{Id: "2", Name: "plain"})
	if err != nil || change != nil {
		t.Errorf("a container that asks for nothing: %v, %v", change, err)
	}
	if list, err := started.Workloads(t.Context()); err != nil || len(list) != 1 || !slices.Equal(list[0].CoreIDs, []string{"8"}) {
		t.Errorf("%+v, %v, want the other node's workload as it was", list, err)
	}
}

// poolContainer of pod "pod" was given CPU 4 of pool "fast" by kubelet.
func poolContainer(id string) *api.Container {
	container := waysContainer(id, api.ContainerState_CONTAINER_CREATED, 1)
	container.Annotations = map[string]string{devices.AnnotationPrefix + "pool-fast": `{"resource": "nokia.k8s.io/fast", "ids": ["4"]}`}
	return container
}

func TestAnAnnotationThatIsThePodsGivesNoDevices(t *testing.T) {
	started := startNRD(t, fast)
	p := connectedPlugin(started.Client)
	forged := map[string]string{
		devices.AnnotationPrefix + "pool-fast":     `{"resource": "nokia.k8s.io/fast", "ids": ["4"]}`,
		devices.AnnotationPrefix + "l3_cache_ways": `{"resource": "intel.com/l3_cache_ways", "ids": ["0", "1", "2"]}`,
	}
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod", Annotations: forged}
	plain, ways := plainContainer("1"), waysContainer("2", api.ContainerState_CONTAINER_CREATED, 1)
	plain.Annotations, plain.Linux.CgroupsPath = maps.Clone(forged), "/pod/1" // by CRI-O
	ways.Annotations[devices.AnnotationPrefix+"pool-fast"] = forged[devices.AnnotationPrefix+"pool-fast"]
	for _, container := range []*api.Container{plain, ways} {
		if _, _, err := p.CreateContainer(t.Context(), pod, container); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(moment string) {
		t.Helper()
		list, err := started.Workloads(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != "k8s.pod.c" || len(list[0].CPU) != 0 || list[0].RDT.Cache.Max != 1 {
			t.Errorf("%s: %+v, %v, want one way of one container alone", moment, list, err)
		}
	}
	expect("created")
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{plain, ways})
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	expect("found at a connection")
}

func TestAContainerThatCouldNotBeReadIsGrantedOnceItCanBe(t *testing.T) {
	started := startNRD(t, common+fast)
	p := connectedPlugin(nrd.New("/nowhere"))
	pod, container := &api.PodSandbox{Id: "sandbox", Uid: "pod"}, poolContainer("1")
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{container})
	if err := p.StartContainer(t.Context(), pod, container); err == nil || !strings.Contains(err.Error(), "cannot read what the container asks for") {
		t.Errorf("start: %v, want a refusal", err)
	}
	p.client = started.Client
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	if granted := started.Granted("k8s.pod.c"); granted == nil || granted.CPU[0].CPUs != "4" {
		t.Errorf("granted %+v, want CPU 4", granted)
	}
}

func TestAContainerThatIsStartedInSpiteOfTheRefusalIsGranted(t *testing.T) {
	started, p, runtime := beside(t, fast)
	pod, container := &api.PodSandbox{Id: "sandbox", Uid: "pod"}, poolContainer("1")
	if err := p.StartContainer(t.Context(), pod, container); err == nil || !strings.Contains(err.Error(), "client was away") {
		t.Errorf("start: %v, want a refusal", err)
	}
	if err := p.PostStartContainer(t.Context(), pod, container); err != nil {
		t.Fatal(err)
	}
	if err := compare(t, p); err != nil {
		t.Fatal(err)
	}
	if granted := started.Granted("k8s.pod.c"); granted == nil || granted.CPU[0].CPUs != "4" {
		t.Errorf("granted %+v, want CPU 4", granted)
	}
	runtime.expect(t, "after a comparison", map[string]string{"1": "4"})
}

func TestAContainerThatCannotBeReadIsNeitherGrantedNorStarted(t *testing.T) {
	started := startNRD(t, "")
	p := connectedPlugin(started.Client)
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod", Annotations: map[string]string{"c_cache_min": "1.5"}}
	container := waysContainer("1", api.ContainerState_CONTAINER_CREATED, 1)
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{container})
	if err := compare(t, p); err != nil || started.Granted("k8s.pod.c") != nil {
		t.Errorf("%v, want no grant", err)
	}
	if _, err := p.grantMissing(t.Context(), "k8s.pod.c", true); err != nil || started.Granted("k8s.pod.c") != nil {
		t.Errorf("%v, want no grant", err)
	}
	if err := p.StartContainer(t.Context(), pod, container); err == nil || !strings.Contains(err.Error(), "c_cache_min") {
		t.Errorf("start: %v, want a refusal with the annotation", err)
	}
}

func TestOfTwoPodsOfOneNameTheNewerOneIsListed(t *testing.T) {
	entryOf := func(uid string, created int64) entry {
		e := entryFor(uid, uid, "/"+uid)
		e.namespace, e.pod, e.created = "default", "feed", created
		return e
	}
	p := connectedPlugin(nrd.New("/nowhere"))
	p.book.put(entryOf("former", 1))
	if list, err := p.Containers(); err != nil || len(list) != 1 || list[0].PodUID != "former" {
		t.Errorf("%+v, want the container of the only pod", list)
	}
	if err := p.RunPodSandbox(t.Context(), &api.PodSandbox{Id: "sandbox", Uid: "newer", Namespace: "default", Name: "feed",
		Linux: &api.LinuxPodSandbox{CgroupsPath: "/newer"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := p.Containers(); err != nil || len(list) != 0 {
		t.Errorf("%+v, want no container of the former pod", list)
	}
	p.book.put(entryOf("newer", 2))
	if list, err := p.Containers(); err != nil || len(list) != 1 || list[0].PodUID != "newer" || list[0].Workload != "k8s.newer.c" {
		t.Errorf("%+v, want the container of the newer pod", list)
	}
}

func TestASandboxWithoutAPauseContainerIsGivenUp(t *testing.T) {
	p := connectedPlugin(nrd.New("/nowhere"))
	p.book.defaultPool = "common"
	// CRI-O makes none where the pod does not share its processes, and tells no process of the sandbox.
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod", Linux: &api.LinuxPodSandbox{CgroupsPath: "kubepods.slice:crio:sandbox"}}
	if err := p.RunPodSandbox(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for range mostRepairs {
		if _, err := p.grantMissing(t.Context(), "k8s.pod", true); err == nil {
			t.Error("want another try")
		}
		p.book.countRepair("sandbox")
	}
	if _, err := p.grantMissing(t.Context(), "k8s.pod", false); err == nil {
		t.Error("want a try of one that nrd has with another request")
	}
	if _, err := p.grantMissing(t.Context(), "k8s.pod", true); err != nil || len(p.book.wanted()) > 0 {
		t.Errorf("%v, %+v, want none", err, p.book.wanted())
	}
}

func TestAContainerThatRunsAtAConnectionHasNoMoreTimeForAProcessThanAtItsStart(t *testing.T) {
	p := connectedPlugin(nrd.New("/nowhere"))
	pods := []*api.PodSandbox{{Id: "sandbox", Uid: "pod"}}
	for state, seconds := range map[api.ContainerState]int{
		api.ContainerState_CONTAINER_CREATED: graceSeconds, api.ContainerState_CONTAINER_RUNNING: startedSeconds,
	} {
		found := p.bookOf(t.Context(), pods, []*api.Container{waysContainer("1", state, 1)})
		if owner := found.entries["1"].request.Owner; owner.WithinSeconds != seconds {
			t.Errorf("%v: %+v, want %d s", state, owner, seconds)
		}
	}
}

// As without a process in the cgroup, of gVisor or in a virtual machine, or if others delete it.
func TestAGrantThatEndsEachTimeIsGivenUpAndThePodTellsSo(t *testing.T) {
	started := startNRD(t, "")
	server, _ := testservers.Client(t)
	p := connectedPlugin(started.Client)
	p.events = kube.NewEvents(server, "node-a")
	go func() { _ = p.events.Run(t.Context()) }()
	pod := &api.PodSandbox{Id: "sandbox", Uid: "pod", Namespace: "default", Name: "elsewhere"}
	p.book = p.bookOf(t.Context(), []*api.PodSandbox{pod}, []*api.Container{waysContainer("1", api.ContainerState_CONTAINER_RUNNING, 1)})
	for grants := range mostRepairs + 2 {
		if err := compare(t, p); err != nil {
			t.Fatal(err)
		}
		if isGranted := started.Granted("k8s.pod.c") != nil; isGranted != (grants < mostRepairs) {
			t.Errorf("comparison %d: granted %v", grants, isGranted)
		}
		if err := started.Delete(t.Context(), "k8s.pod.c"); err != nil {
			t.Fatal(err)
		}
	}
	events := server.Resource(schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}).Namespace("default")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		list, err := events.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		isTold := func(each unstructured.Unstructured) bool {
			return strings.HasPrefix(fmt.Sprint(each.Object["note"]), "container c: its grant keeps ending and is given up: ")
		}
		if slices.ContainsFunc(list.Items, isTold) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no event tells of it: %v", list.Items)
		}
	}
}
