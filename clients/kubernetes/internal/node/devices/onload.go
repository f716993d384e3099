package devices

import (
	"strconv"

	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nrd.internal/kubernetes/internal/nrd"
)

// OnloadName is the resource of Onload's operator.
const OnloadName = "amd.com/onload"

// onloadDevices are advertised unless nrd has a reserve that says otherwise: containers with Onload on one node.
const onloadDevices = 50

// Onload advertises allocations of Onload.
var Onload = Resource{Name: OnloadName, Slug: "onload"}

// OnloadList lists the devices: healthy while new users of Onload can start.
func OnloadList(node nrd.Node, onload nrd.Onload) []*kubelet.Device {
	total := onloadDevices
	if reserved := node.Capacity.Kubernetes().Onload; reserved != nil {
		total = *reserved
	}
	health := kubelet.Unhealthy
	if admits, _ := onload.Admits(); admits {
		health = kubelet.Healthy
	}
	list := make([]*kubelet.Device, 0, total)
	for device := range total {
		list = append(list, &kubelet.Device{ID: strconv.Itoa(device), Health: health})
	}
	return list
}
