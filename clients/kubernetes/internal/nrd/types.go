package nrd

// The bodies of docs/openapi.yaml, as far as this client uses them. Members of answers that it does not know are ignored.

// Request of a workload.
type Request struct {
	CoreIDs []string          `json:"core_ids,omitempty"`
	TaskIDs []string          `json:"task_ids,omitempty"`
	Cgroup  string            `json:"cgroup,omitempty"`
	Unit    string            `json:"unit,omitempty"`
	Owner   *Owner            `json:"owner,omitempty"`
	CPU     []CPURequest      `json:"cpu,omitempty"`
	RDT     *RDT              `json:"rdt,omitempty"`
	Plugins *Plugins          `json:"plugins,omitempty"`
	Policy  string            `json:"policy,omitempty"`
	Onload  *OnloadRequest    `json:"onload,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Owner makes a workload end with its cgroup, or the one of its unit.
type Owner struct {
	Cgroup        bool `json:"cgroup"`
	WithinSeconds int  `json:"within_seconds,omitempty"`
}

// CPURequest asks one pool for CPUs.
type CPURequest struct {
	Pool         string `json:"pool"`
	Count        int    `json:"count,omitempty"`
	Cores        int    `json:"cores,omitempty"` // in place of Count
	CPUs         string `json:"cpus,omitempty"`
	RequestMilli int    `json:"request_milli,omitempty"`
	LimitMilli   int    `json:"limit_milli,omitempty"`
	Among        string `json:"among,omitempty"`
	Enforce      string `json:"enforce,omitempty"`
}

// RDT requests cache ways and memory bandwidth.
type RDT struct {
	Cache *Cache `json:"cache,omitempty"`
	MBA   *MBA   `json:"mba,omitempty"`
}

// Cache is a range of ways: a guarantee if both are equal, shared if both are 0.
type Cache struct {
	Max int64 `json:"max"`
	Min int64 `json:"min"`
}

// MBA limits memory bandwidth, in the unit of the node.
type MBA struct {
	Percentage int64 `json:"percentage,omitempty"`
	Mbps       int64 `json:"mbps,omitempty"`
}

// Plugins has frequencies as RMD 0.3 requests them.
type Plugins struct {
	PState *PState `json:"pstate,omitempty"`
}

// PState is RMD's adaptive frequency: a threshold of branch misses, and whether it is in force.
type PState struct {
	Ratio      float64 `json:"ratio,omitempty"`
	Monitoring string  `json:"monitoring,omitempty"`
}

// OnloadRequest requests an allocation with the default profile.
type OnloadRequest struct {
	Env map[string]string `json:"env,omitempty"`
}

// Workload is nrd's answer.
type Workload struct {
	ID       string              `json:"id"`
	UUID     string              `json:"uuid"`
	Name     string              `json:"name"`
	Origin   string              `json:"origin"`
	Status   string              `json:"status"`
	ClosName string              `json:"cos_name"`
	Policy   string              `json:"policy"`
	CoreIDs  []string            `json:"core_ids"`
	TaskIDs  []string            `json:"task_ids"`
	Cgroup   string              `json:"cgroup"`
	Unit     string              `json:"unit"`
	Labels   map[string]string   `json:"labels"`
	RDT      RDT                 `json:"rdt"`
	Plugins  *Plugins            `json:"plugins"`
	CPU      OneOrMore[CPUGrant] `json:"cpu"`
	// CPURequest is the request of CPU.
	CPURequest OneOrMore[CPURequest] `json:"cpu_request"`
	Ways       map[string]Ways       `json:"granted_ways"`
	Onload     *OnloadGrant          `json:"onload"`
}

// Beginnings of the ids that this program gives to workloads.
const (
	ContainerPrefix = "k8s."
	CRPrefix        = "cr."
)

// ByID has the workloads of a list.
func ByID(list []Workload) map[string]Workload {
	byID := map[string]Workload{}
	for _, each := range list {
		byID[each.ID] = each
	}
	return byID
}

// Ways of one cache.
type Ways struct {
	Ways int `json:"ways"`
}

// CPUGrant is what one pool gave.
type CPUGrant struct {
	Pool      string `json:"pool"`
	CPUs      string `json:"cpus"`
	Exclusive string `json:"exclusive"`
	Shared    string `json:"shared"`
	Mems      string `json:"mems"`
}

// OnloadGrant is what a container needs to use Onload. Only the answer to the request that set it has these members.
type OnloadGrant struct {
	Version     string            `json:"version"`
	Environment map[string]string `json:"environment"`
	DeviceNodes []DeviceNode      `json:"device_nodes"`
	Mounts      []Mount           `json:"mounts"`
}

// DeviceNode is a device of the node, with which one is made in the container.
type DeviceNode struct {
	Path  string `json:"path"`
	Type  string `json:"type"` // "c"
	Major int64  `json:"major"`
	Minor int64  `json:"minor"`
	Mode  uint32 `json:"mode"` // permission bits
}

// Mount is a file of the node that the container needs.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
}

// Node tells what the node has and who has it.
type Node struct {
	Revision  int64    `json:"revision"`
	MachineID string   `json:"machine_id"`
	Caches    []L3     `json:"caches"`
	Layout    *Layout  `json:"layout"`
	Classes   Classes  `json:"classes"`
	Capacity  Capacity `json:"capacity"`
	CPUs      struct {
		Online string `json:"online"`
	} `json:"cpus"`
}

// Capacity is what the node can grant at all.
type Capacity struct {
	Revision int64 `json:"revision"`
	// DefaultPool of what requests no CPUs; empty: none.
	DefaultPool string             `json:"default_pool"`
	Reserves    map[string]Reserve `json:"reserves"`
}

// Kubernetes is what only workloads of this origin may take, and the most that they may. Its members are nil if nothing
// is reserved and nothing limited.
func (c Capacity) Kubernetes() Reserve { return c.Reserves["kubernetes"] }

// Reserve of one origin.
type Reserve struct {
	Ways *struct {
		Reserved int `json:"reserved"`
		// Usable are those that the origin has and can get, on the cache that has least.
		Usable int `json:"usable"`
	} `json:"ways"`
	Onload *int                    `json:"onload"`
	Pools  map[string]ReservedPool `json:"pools"`
}

// ReservedPool has lists of CPUs of an exclusive pool, and thousandths of a CPU of a shared one.
type ReservedPool struct {
	Kind          string `json:"kind"`
	Reserved      string `json:"reserved"`
	Usable        string `json:"usable"`
	ReservedMilli int    `json:"reserved_milli"`
}

// Layout has the ways of each pool, the same on all caches.
type Layout struct {
	Guarantee Ways `json:"guarantee"`
}

// Classes of service: those of other programs count as used.
type Classes struct {
	Total int `json:"total"`
	Used  int `json:"used"`
}

// L3 is one cache and the owners of its ways.
type L3 struct {
	ID        int        `json:"id"`
	CPUs      string     `json:"cpus"`
	Pools     CachePools `json:"pools"`
	Workloads []WayOwner `json:"workloads"`
}

// CachePools has what is left of the pools of one cache.
type CachePools struct {
	Guarantee struct {
		LongestRun int `json:"longest_run"`
	} `json:"guarantee"`
}

// WayOwner is a workload with ways of a cache.
type WayOwner struct {
	ID   string `json:"id"`
	Pool string `json:"pool"` // "guarantee", "besteffort" or "shared"
	Ways Ways   `json:"ways"`
}

// Pool of CPUs.
type Pool struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	CPUs string `json:"cpus"`
	// Threads of a core that a workload gets: "one" and no other workload the rest, "all", or "any".
	Threads string `json:"threads"`
}

// IsExclusive reports whether a CPU of the pool has one workload at most.
func (p Pool) IsExclusive() bool { return p.Kind == "exclusive" }

// Onload is the state of Onload on the node.
type Onload struct {
	DeviceAccess string      `json:"device_access"`
	Version      string      `json:"version"`
	Conditions   []Condition `json:"conditions"`
}

// Condition as in Kubernetes.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Admits reports whether new users of Onload can start, and if not, why.
func (o Onload) Admits() (bool, string) {
	for _, wanted := range []string{"Loaded", "Verified"} {
		if held, message := o.holds(wanted); !held {
			return false, "Onload is not " + wanted + ": " + message
		}
	}
	if o.DeviceAccess != "open" {
		return false, "Onload admits no new users (" + o.DeviceAccess + ")"
	}
	return true, ""
}

func (o Onload) holds(name string) (bool, string) {
	for _, condition := range o.Conditions {
		if condition.Type == name {
			return condition.Status == "True", condition.Message
		}
	}
	return false, "no such condition"
}

// Health of nrd.
type Health struct {
	Version         string   `json:"version"`
	Status          string   `json:"status"`
	HardwareProblem string   `json:"hardware_problem"`
	Warnings        []string `json:"warnings"`
}

// CPUs tells what the CPUs of the node share, and who has them.
type CPUs struct {
	Zones []Zone `json:"zones"`
	CPUs  []CPU  `json:"cpus"`
}

// Zone is what CPUs share: level "core", "l3", "node" and others; the id is the kernel's.
type Zone struct {
	Level string `json:"level"`
	ID    int    `json:"id"`
	CPUs  string `json:"cpus"`
}

// CPU and its use: "exclusive", "idle_sibling", "shared", "free", "other" or "offline".
type CPU struct {
	CPU      int    `json:"cpu"`
	Use      string `json:"use"`
	Workload string `json:"workload"`
}
