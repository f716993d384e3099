// Package intel has the kinds of the RMD operator, group intel.com, version v1alpha1, with the fields of both of its
// generations. deploy/crds describes them to the API server.
package intel

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nrd.internal/kubernetes/internal/nrd"
)

// Group and version of all kinds.
const (
	Group   = "intel.com"
	Version = "v1alpha1"
)

// Resources of the API server.
var (
	Workloads  = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "rmdworkloads"}
	NodeStates = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "rmdnodestates"}
	Configs    = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "rmdconfigs"}
)

// NodeStatesNamespace has the RmdNodeStates of all nodes and the RmdConfig, as the RMD operator had them.
const NodeStatesNamespace = "default"

// NodeStatePrefix begins the names of RmdNodeStates; the node's name follows.
const NodeStatePrefix = "rmd-node-state-"

// AutomaticLabel marks an RmdWorkload that shows the grant of a container, with the node as value. Nothing reads those.
const AutomaticLabel = "nrd.internal/automatic"

// WorkloadSpec of an RmdWorkload. The top-level cache and pstate are those of 0.1, rdt and plugins those of 0.2 and later.
type WorkloadSpec struct {
	Container       string            `json:"container,omitempty"` // whose grant an automatic one shows
	CoreIDs         []string          `json:"coreIds,omitempty"`
	AllCores        bool              `json:"allCores,omitempty"`
	ReservedCoreIDs []string          `json:"reservedCoreIds,omitempty"`
	Policy          string            `json:"policy,omitempty"`
	Cache           *nrd.Cache        `json:"cache,omitempty"`
	RDT             *nrd.RDT          `json:"rdt,omitempty"`
	PState          *PState           `json:"pstate,omitempty"`
	Plugins         *Plugins          `json:"plugins,omitempty"`
	Nodes           []string          `json:"nodes,omitempty"`
	NodeSelector    map[string]string `json:"nodeSelector,omitempty"`
}

// Plugins of RMD.
type Plugins struct {
	PState *PState `json:"pstate,omitempty"`
}

// PState has texts, because RMD's clients sent "3.0".
type PState struct {
	Ratio      string `json:"ratio,omitempty"`
	Monitoring string `json:"monitoring,omitempty"`
}

// WorkloadState is the part of one node in an RmdWorkload's status.
type WorkloadState struct {
	Response string   `json:"response"`
	ID       string   `json:"id,omitempty"`
	CosName  string   `json:"cosName,omitempty"`
	Status   string   `json:"status,omitempty"`
	CoreIDs  []string `json:"coreIds,omitempty"`
	Policy   string   `json:"policy,omitempty"`
	RDT      *nrd.RDT `json:"rdt,omitempty"`
	Plugins  *Plugins `json:"plugins,omitempty"`
}

// NodeStateStatus has what nrd has on one node. Workloads are texts, as the RMD operator showed them.
type NodeStateStatus struct {
	Workloads map[string]map[string]string `json:"workloads,omitempty"`
	Pools     map[string]NodePool          `json:"pools,omitempty"`
}

// NodePool is a CPU pool of a node.
type NodePool struct {
	Kind    string `json:"kind"`
	CPUs    int64  `json:"cpus"`
	Threads string `json:"threads,omitempty"` // nrd's: "one", "all" or "any" of a core
}

// ConfigSpec of the RmdConfig.
type ConfigSpec struct {
	NodeSelector map[string]string `json:"rmdNodeSelector,omitempty"`
}
