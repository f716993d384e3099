package webhook

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/node/devices"
)

// Rules of the mutation.
type Rules struct {
	Base    string // domain of the names of CPU pools and of CPU Pooler's annotation
	Starter string // path of a process starter on the host; empty: nrdctl
	Quotas  Quotas
}

// resourceAnnotations get the resource requirements of all containers, as the webhook of CRI Resource Manager wrote
// them. A pod requests one by having it, with any value.
var resourceAnnotations = []string{"intel.com/resources", "noderesource.dev/resources"}

// target is one container of the pod and what the patch makes of its resources.
type target struct {
	*corev1.Container
	path      string // JSON pointer
	isInit    bool
	resources corev1.ResourceRequirements
	requested map[string]int64 // of each pool
}

// Mutate gives the patch for a pod. An error is the sentence with which the pod is refused.
func (r Rules) Mutate(pod *corev1.Pod, pools annotations.Pools) (Patch, error) {
	targets, err := r.targets(pod)
	if err != nil {
		return nil, err
	}
	listed, err := r.listed(pod, targets)
	if err != nil {
		return nil, err
	}
	var patch Patch
	starts := starter{rules: r, patch: &patch, pod: pod}
	for i := range targets {
		each := &targets[i]
		if part, isListed := annotations.Find(listed, each.Name); isListed {
			if err := r.start(&starts, each, part, pools); err != nil {
				return nil, err
			}
		}
		if err := each.checkRMD(pod.Annotations); err != nil {
			return nil, err
		}
		if err := r.limit(&patch, &starts, each, pools); err != nil {
			return nil, err
		}
	}
	return patch, annotateResources(&patch, pod, targets)
}

func (r Rules) targets(pod *corev1.Pod) ([]target, error) {
	var all []target
	for _, kind := range []struct {
		path       string
		isInit     bool
		containers []corev1.Container
	}{{"/spec/initContainers/", true, pod.Spec.InitContainers}, {"/spec/containers/", false, pod.Spec.Containers}} {
		for i := range kind.containers {
			container := &kind.containers[i]
			path := kind.path + strconv.Itoa(i)
			requested, err := requestedPools(container, path, r.Base)
			if err != nil {
				return nil, err
			}
			all = append(all, target{container, path, kind.isInit, *container.Resources.DeepCopy(), requested})
		}
	}
	return all, nil
}

// listed is what CPU Pooler's annotation says, if the pod has it.
func (r Rules) listed(pod *corev1.Pod, targets []target) ([]annotations.Container, error) {
	key := r.Base + "/cpus"
	text, isThere := pod.Annotations[key]
	if !isThere {
		return nil, nil
	}
	listed, err := annotations.ReadCPUs(key, text)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(targets))
	for _, each := range targets {
		names = append(names, each.Name)
	}
	return listed, annotations.CheckContainers(listed, names)
}

// has reports whether the container requests the resource.
func (t *target) has(name corev1.ResourceName) bool {
	limit := t.Resources.Limits[name]
	return !limit.IsZero()
}

// checkRMD refuses annotations of the RMD operator as the node role would, of containers that ask nrd for something.
func (t *target) checkRMD(all map[string]string) error {
	if len(t.requested) == 0 && !t.has(devices.WaysName) && !t.has(devices.OnloadName) {
		return nil
	}
	_, err := annotations.ReadRMD(t.Name, all)
	return err
}

// start makes a container that the annotation lists start its processes. In the contract of CPU Pooler 0.1 the
// container requests no pool, and gets the request from the annotation; in that of its later versions the two match.
func (r Rules) start(starts *starter, each *target, part annotations.Container, pools annotations.Pools) error {
	isOld := len(each.requested) == 0
	if isOld {
		if err := part.CheckPools(pools); err != nil {
			return err
		}
		each.requested = part.Sums()
	} else if err := part.CheckRequests(r.Base, each.requested, pools); err != nil {
		return err
	}
	return starts.inject(each, isOld)
}

// limit sets the limits of resources and CPU_POOLS of a container with CPUs of pools.
func (r Rules) limit(patch *Patch, starts *starter, each *target, pools annotations.Pools) error {
	if len(each.requested) == 0 {
		return nil
	}
	wanted, err := r.cpusOf(each, pools)
	if err != nil {
		return err
	}
	limits, requests := map[string]string{}, map[string]string{}
	for pool, amount := range each.requested {
		name := r.Base + "/" + pool
		if limit, isThere := each.Resources.Limits[corev1.ResourceName(name)]; !isThere || limit.IsZero() {
			limits[name] = strconv.FormatInt(amount, 10)
		}
	}
	if milli, isLimited := r.Quotas.limit(wanted); isLimited {
		limits["cpu"] = strconv.FormatInt(milli, 10) + "m"
		requests["cpu"] = "0m"
	}
	each.setResources(patch, limits, requests)
	starts.setVariable(each, "CPU_POOLS", wanted.pools())
	return nil
}

func (r Rules) cpusOf(each *target, pools annotations.Pools) (cpus, error) {
	var wanted cpus
	for name, amount := range each.requested {
		if err := pools.Refuse(name); err != nil {
			return cpus{}, fmt.Errorf("%s/resources/limits%s: %w", each.path, member(r.Base+"/"+name), err)
		}
		if pool := pools[name]; pool.IsExclusive {
			wanted.exclusive += amount * int64(pool.CPUsOfDevice)
		} else {
			wanted.sharedMilli += amount
			wanted.sharedCPUs += int64(pool.CPUs)
		}
	}
	return wanted, nil
}

// setResources of a container: single members, unless it has none at all.
func (t *target) setResources(patch *Patch, limits, requests map[string]string) {
	if len(limits)+len(requests) == 0 {
		return
	}
	path := t.path + "/resources"
	if t.Resources.Limits == nil && t.Resources.Requests == nil && t.Resources.Claims == nil {
		both := map[string]any{"limits": limits}
		if len(requests) > 0 {
			both["requests"] = requests
		}
		patch.set(path, both)
	} else {
		setMembers(patch, path+"/limits", t.Resources.Limits == nil, limits)
		setMembers(patch, path+"/requests", t.Resources.Requests == nil, requests)
	}
	note(&t.resources.Limits, limits)
	note(&t.resources.Requests, requests)
}

func setMembers(patch *Patch, path string, isNew bool, values map[string]string) {
	if isNew && len(values) > 0 {
		patch.set(path, values)
		return
	}
	for _, name := range sortedKeys(values) {
		patch.set(path+member(name), values[name])
	}
}

func note(resources *corev1.ResourceList, values map[string]string) {
	for name, value := range values {
		if *resources == nil {
			*resources = corev1.ResourceList{}
		}
		(*resources)[corev1.ResourceName(name)] = resource.MustParse(value)
	}
}

// annotateResources fills the annotations of resources that the pod has.
func annotateResources(patch *Patch, pod *corev1.Pod, targets []target) error {
	for _, key := range resourceAnnotations {
		if _, isAsked := pod.Annotations[key]; !isAsked {
			continue
		}
		all := map[string]map[string]corev1.ResourceRequirements{"initContainers": {}, "containers": {}}
		for _, each := range targets {
			kind := "containers"
			if each.isInit {
				kind = "initContainers"
			}
			all[kind][each.Name] = withRequests(each.resources)
		}
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		patch.set("/metadata/annotations"+member(key), string(text))
	}
	return nil
}

// withRequests has the requests that the API server copies from the limits after this patch.
func withRequests(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	for name, limit := range resources.Limits {
		if _, isThere := resources.Requests[name]; !isThere {
			if resources.Requests == nil {
				resources.Requests = corev1.ResourceList{}
			}
			resources.Requests[name] = limit
		}
	}
	return resources
}
