package webhook

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/node/devices"
)

// ofPools are variables that the node role sets in a container with CPUs of pools, whatever the pod says.
var ofPools = []string{"EXCLUSIVE_CPUS", "SHARED_CPUS", "NRD_CPUS", "NRD_CPUS_SHARED", "NRD_POOLS"}

// ofAll is one that it sets in all containers with devices.
const ofAll = "NRD_WORKLOAD"

// mostWarnings of one pod: the API server passes on 4 KiB.
const mostWarnings = 10

// Warnings name what has no effect in a pod that is admitted. kubectl shows them to the pod's author.
func (r Rules) Warnings(pod *corev1.Pod) []string {
	found := devices.Ignored(pod.Annotations)
	targets, err := r.targets(pod)
	if err != nil {
		return nil // it is refused
	}
	listed, err := r.listed(pod, targets)
	if err != nil {
		return nil
	}
	for _, each := range targets {
		_, isListed := annotations.Find(listed, each.Name)
		hasPools, hasWays := isListed || len(each.requested) > 0, each.has(devices.WaysName)
		hasDevices := hasPools || hasWays || each.has(devices.OnloadName)
		found = append(found, annotations.Ignored(each.Name, pod.Annotations, hasDevices, hasWays)...)
		for i, variable := range each.Env {
			if hasPools && slices.Contains(ofPools, variable.Name) || hasDevices && variable.Name == ofAll {
				found = append(found, each.path+"/env/"+strconv.Itoa(i)+": the value of "+variable.Name+" has no effect: the node sets it")
			}
		}
	}
	return found[:min(len(found), mostWarnings)]
}
