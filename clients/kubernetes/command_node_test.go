package main

import (
	"io"
	"os"
	"path"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// daemonSet of deploy/.
func daemonSet(t *testing.T) appsv1.DaemonSet {
	t.Helper()
	file, err := os.Open("deploy/node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var found appsv1.DaemonSet
		if err := documents.Decode(&found); err == io.EOF {
			t.Fatal("deploy/node.yaml has no DaemonSet")
		} else if err != nil {
			t.Fatal(err)
		}
		if found.Kind == "DaemonSet" {
			return found
		}
	}
}

func TestTheNodeRoleReachesItsOwnSocketOfNRDAlone(t *testing.T) {
	const administrators = "/run/nrd/nrd.sock"
	folder := path.Dir(defaultSocket)
	if folder == path.Dir(administrators) {
		t.Errorf("%s is beside %s", defaultSocket, administrators)
	}
	pod := daemonSet(t).Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Name == "nrd" && (volume.HostPath == nil || volume.HostPath.Path != folder) {
			t.Errorf("%+v, want the folder %s of the host", volume.HostPath, folder)
		}
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if mount.Name == "nrd" && mount.MountPath != folder {
			t.Errorf("mounted at %s, want %s", mount.MountPath, folder)
		}
	}
}
