package containers

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// mostPodResources bounds kubelet's answer: 1000 devices of a shared pool in each of 1000 containers.
const mostPodResources = 64 << 20

// reconnection to a kubelet that was away, which creates containers as soon as it is back. gRPC's own pauses grow to two minutes,
// in which all questions fail.
var reconnection = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 400 * time.Millisecond}

// podsDeadline of questions about the whole node, for which no event of the runtime waits.
const podsDeadline = 5 * time.Second

// Kubelet asks kubelet which devices it gave to a container. Environment variables say the same, but the pod's author
// can set those.
type Kubelet struct {
	connection *grpc.ClientConn
	lister     podresources.PodResourcesListerClient
}

// SocketOf a kubelet with this root folder.
func SocketOf(kubeletDir string) string {
	return filepath.Join(kubeletDir, "pod-resources", "kubelet.sock")
}

// NewKubelet does not connect; the first call does.
func NewKubelet(socket string) (*Kubelet, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnection}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostPodResources)))
	if err != nil {
		return nil, err
	}
	return &Kubelet{connection: connection, lister: podresources.NewPodResourcesListerClient(connection)}, nil
}

// Close ends the connection.
func (k *Kubelet) Close() error { return k.connection.Close() }

// Devices of one container by resource; nil if kubelet does not list it, as it does not list init containers.
func (k *Kubelet) Devices(ctx context.Context, who identity) (map[string][]string, error) {
	answer, err := k.lister.Get(ctx, &podresources.GetPodResourcesRequest{PodName: who.pod, PodNamespace: who.namespace})
	if err != nil {
		return nil, fmt.Errorf("kubelet does not tell the devices of the container: %w", err)
	}
	for _, container := range answer.GetPodResources().GetContainers() {
		if container.Name == who.container {
			return devicesOf(container), nil
		}
	}
	return nil, nil
}

// getDisabled is what kubelets answer whose feature gate KubeletPodResourcesGet is off, as by default before 1.34. Those before 1.27 do
// not have the call.
const getDisabled = "PodResources API Get method disabled"

// ReportsContainers is whether Devices can be asked.
func (k *Kubelet) ReportsContainers(ctx context.Context) bool {
	_, err := k.lister.Get(ctx, &podresources.GetPodResourcesRequest{}) // of no pod: otherwise the error names it
	refused := status.Convert(err)
	return refused.Code() != codes.Unimplemented && refused.Message() != getDisabled
}

// Pods that kubelet has, by namespace and name as in "default/feed". It has those of the API server, without the ones
// that were deleted there with force and whose containers it still has to end, and its static ones.
func (k *Kubelet) Pods(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, podsDeadline)
	defer cancel()
	answer, err := k.lister.List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("kubelet does not tell its pods: %w", err)
	}
	found := map[string]bool{}
	for _, pod := range answer.GetPodResources() {
		found[pod.Namespace+"/"+pod.Name] = true
	}
	return found, nil
}

// PlacedCPUs is the number of CPUs of which kubelet's CPU manager chooses those of containers: of one each, or the CPUs that
// are left. Its policy none does not, and lists no CPUs that it could give.
func (k *Kubelet) PlacedCPUs(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, podsDeadline)
	defer cancel()
	answer, err := k.lister.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	if err != nil {
		return 0, fmt.Errorf("kubelet does not tell whether its CPU manager places containers: %w", err)
	}
	return len(answer.GetCpuIds()), nil
}

// devicesOf joins what kubelet lists once for each NUMA node.
func devicesOf(container *podresources.ContainerResources) map[string][]string {
	found := map[string][]string{}
	for _, device := range container.Devices {
		found[device.ResourceName] = append(found[device.ResourceName], device.DeviceIds...)
	}
	return found
}
