package devices

import (
	"fmt"
	"strconv"
	"strings"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/nrd"
)

// WaysName is the resource of the RMD operator.
const WaysName = "intel.com/l3_cache_ways"

// Ways advertises cache ways. A device is one way on every L3 cache of the node, because the scheduler counts devices
// of a node and not of a cache; so there are as many as the cache with the fewest ways has.
var Ways = Resource{Name: WaysName, Slug: "l3_cache_ways", Environment: waysVariable}

// waysVariable as the RMD operator's plugin set it: "{id, NUMA node}" for each device. Ways of all caches have no node.
func waysVariable(ids []string) map[string]string {
	var text strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&text, "{%s, -1}", id)
	}
	return map[string]string{WaysName: text.String()}
}

// WaysList lists the devices of the reserve. Those that no container has and that nrd could not grant now are
// unhealthy, so that the scheduler places no pod that would be refused: ways that others or RmdWorkloads have, or no
// class of service left.
func WaysList(node nrd.Node, inUse map[string]bool, live Live) []*kubelet.Device {
	total, usable := waysOf(node)
	// A policy may have given a container more ways than it has devices.
	held := waysHeld(node, func(owner nrd.WayOwner) bool {
		return isGuaranteeOf(nrd.ContainerPrefix)(owner) && !live.HasEnded(owner.ID)
	})
	grantable := usable - max(len(inUse), held)
	list := make([]*kubelet.Device, 0, total)
	for way := range total {
		id := strconv.Itoa(way)
		health := kubelet.Unhealthy
		switch {
		case inUse[id]:
			health = kubelet.Healthy
		case grantable > 0:
			health = kubelet.Healthy
			grantable--
		}
		list = append(list, &kubelet.Device{ID: id, Health: health})
	}
	return list
}

// waysOf has the reserve for Kubernetes and what of it is usable for containers; without a reserve the guarantee pool.
func waysOf(node nrd.Node) (total, usable int) {
	if reserve := node.Capacity.Kubernetes().Ways; reserve != nil {
		// What RmdWorkloads have counts as usable, because they are of the same origin.
		return reserve.Reserved, reserve.Usable - waysHeld(node, isGuaranteeOf(nrd.CRPrefix))
	}
	if node.Layout == nil || len(node.Caches) == 0 {
		return 0, 0
	}
	return node.Layout.Guarantee.Ways, waysGrantable(node) + waysHeld(node, isOfContainer)
}

func isOfContainer(owner nrd.WayOwner) bool { return strings.HasPrefix(owner.ID, nrd.ContainerPrefix) }

// isGuaranteeOf leaves out the other kinds of ways, which the reserve does not have.
func isGuaranteeOf(prefix string) func(nrd.WayOwner) bool {
	return func(owner nrd.WayOwner) bool { return strings.HasPrefix(owner.ID, prefix) && owner.Pool == "guarantee" }
}

// waysGrantable is what the cache with the fewest free ways could give one more workload.
func waysGrantable(node nrd.Node) int {
	if node.Classes.Used >= node.Classes.Total {
		return 0
	}
	least := node.Caches[0].Pools.Guarantee.LongestRun
	for _, cache := range node.Caches {
		least = min(least, cache.Pools.Guarantee.LongestRun)
	}
	return least
}

// waysHeld are those of some owners, on the cache where they have most.
func waysHeld(node nrd.Node, counts func(nrd.WayOwner) bool) int {
	most := 0
	for _, cache := range node.Caches {
		held := 0
		for _, owner := range cache.Workloads {
			if counts(owner) {
				held += owner.Ways.Ways
			}
		}
		most = max(most, held)
	}
	return most
}
