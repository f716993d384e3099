package containers

import (
	"testing"

	"github.com/containerd/nri/pkg/api"
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
