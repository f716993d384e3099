package containers

import (
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/api"

	"nrd.internal/kubernetes/internal/node/devices"
	"nrd.internal/kubernetes/internal/nrd"
)

func TestTheEndOfAFormerSandboxKeepsTheGrantsOfTheNewerOne(t *testing.T) {
	fake, client := newFakeNRD(t, "k8s.pod.c", "k8s.pod.d")
	p := connectedPlugin(client)
	newer := entryFor("pod", "1", "/1")
	newer.sandbox = "newer"
	former := entryFor("pod", "2", "/2")
	former.identity.container, former.sandbox = "d", "former"
	p.book.put(newer)
	p.book.put(former)
	if err := p.RemovePodSandbox(t.Context(), &api.PodSandbox{Id: "former", Uid: "pod"}); err != nil {
		t.Fatal(err)
	}
	if !fake.has("k8s.pod.c") || fake.has("k8s.pod.d") {
		t.Errorf("left: %v, want k8s.pod.c alone", fake.workloads)
	}
}

// waysContainer of pod "pod" was given one way by kubelet.
func waysContainer(id string, state api.ContainerState, created int64) *api.Container {
	return &api.Container{Id: id, PodSandboxId: "sandbox", Name: "c", State: state, CreatedAt: created,
		Annotations: map[string]string{devices.AnnotationPrefix + "l3_cache_ways": `{"resource": "intel.com/l3_cache_ways", "ids": ["0"]}`},
		Linux:       &api.LinuxContainer{CgroupsPath: "/pod/" + id}}
}

func TestAStartedContainerWinsOverOneThatWasOnlyCreated(t *testing.T) {
	_, client := newFakeNRD(t)
	p := connectedPlugin(client)
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
		fake, client := newFakeNRD(t, "k8s.gone.c")
		p := connectedPlugin(client)
		p.machine = row.machine
		if err := p.compareOnce(t.Context()); (err != nil) != (row.machine == otherMachine{}) {
			t.Errorf("%T: %v", row.machine, err)
		}
		if fake.has("k8s.gone.c") == row.isDeleted {
			t.Errorf("%T: deleted %v, want %v", row.machine, !row.isDeleted, row.isDeleted)
		}
	}
}

func TestTheNRDOfAnotherMachineGrantsNothing(t *testing.T) {
	fake, client := newFakeNRD(t)
	fake.node.Capacity.DefaultPool = "common"
	fake.pools = []nrd.Pool{{Name: "common", Kind: "shared", CPUs: "0"}}
	fake.node.CPUs.Online = "0-3"
	p := connectedPlugin(client)
	p.machine = otherMachine{}
	pod, asks := &api.PodSandbox{Id: "sandbox", Uid: "pod"}, waysContainer("1", api.ContainerState_CONTAINER_CREATED, 1)
	if _, _, err := p.CreateContainer(t.Context(), pod, asks); err == nil || !strings.Contains(err.Error(), "machine id") {
		t.Errorf("creation: %v, want a refusal with the machine ids", err)
	}
	p.book.put(entry{identity: identity{podUID: "pod", container: "c"}, container: "1"})
	if err := p.StartContainer(t.Context(), pod, asks); err == nil || !strings.Contains(err.Error(), "machine id") {
		t.Errorf("start: %v, want a refusal with the machine ids", err)
	}
	change, _, err := p.CreateContainer(t.Context(), pod, &api.Container{Id: "2", Name: "plain"})
	if err != nil || change != nil || len(fake.requests) != 0 {
		t.Errorf("a container that asks for nothing: %v, %v, %v", change, err, fake.requests)
	}
}
