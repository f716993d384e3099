package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nrd.internal/kubernetes/api/intel"
	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/kube"
	"nrd.internal/kubernetes/internal/nrd"
)

// selects reports whether the CR is for the node. A nodeSelector has precedence over names.
func selects(spec intel.WorkloadSpec, node string, labels map[string]string) bool {
	if len(spec.NodeSelector) > 0 {
		for key, value := range spec.NodeSelector {
			if found, has := labels[key]; !has || found != value {
				return false
			}
		}
		return true
	}
	return slices.Contains(spec.Nodes, node)
}

// requestOf translates a CR; allCPUs are those of the node's caches. Values are left to nrd, which says what is allowed.
func requestOf(spec intel.WorkloadSpec, allCPUs string) (nrd.Request, error) {
	request := nrd.Request{CoreIDs: spec.CoreIDs, Policy: spec.Policy}
	if spec.AllCores {
		request.CoreIDs = allWithout(allCPUs, spec.ReservedCoreIDs)
	}
	cache, mba := spec.Cache, (*nrd.MBA)(nil)
	if spec.RDT != nil {
		mba = spec.RDT.MBA
		if spec.RDT.Cache != nil {
			cache = spec.RDT.Cache
		}
	}
	request.RDT = rdtOf(cache, mba)
	pstate := spec.PState
	if spec.Plugins != nil && spec.Plugins.PState != nil {
		pstate = spec.Plugins.PState
	}
	if pstate != nil && *pstate != (intel.PState{}) {
		asked := &nrd.PState{Monitoring: pstate.Monitoring}
		if pstate.Ratio != "" {
			var err error
			if asked.Ratio, err = annotations.Ratio(pstate.Ratio); err != nil {
				return nrd.Request{}, fmt.Errorf("/spec/plugins/pstate/ratio: %w", err)
			}
		}
		request.Plugins = &nrd.Plugins{PState: asked}
	}
	return request, nil
}

// rdtOf leaves out a bandwidth of nothing.
func rdtOf(cache *nrd.Cache, mba *nrd.MBA) *nrd.RDT {
	if mba != nil && *mba == (nrd.MBA{}) {
		mba = nil
	}
	if cache == nil && mba == nil {
		return nil
	}
	return &nrd.RDT{Cache: cache, MBA: mba}
}

// allWithout is an expression that nrd resolves: "0-15", then "^0-1".
func allWithout(all string, reserved []string) []string {
	list := []string{all}
	for _, item := range reserved {
		for part := range strings.SplitSeq(item, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, "^"+part)
			}
		}
	}
	return list
}

// mostResponse is the CRD's maxLength: a status with more would not be written at all.
const mostResponse = 4096

// stateOf is what the CR's status says about this node.
func stateOf(granted nrd.Workload, err error) intel.WorkloadState {
	if err != nil {
		return intel.WorkloadState{Response: kube.Shortened("Fail: "+err.Error(), mostResponse)}
	}
	state := intel.WorkloadState{Response: "Success: 200", ID: granted.ID, CosName: granted.ClosName,
		Status: granted.Status, CoreIDs: granted.CoreIDs, Policy: granted.Policy}
	if granted.RDT.Cache != nil {
		state.RDT = rdtOf(granted.RDT.Cache, granted.RDT.MBA)
	}
	if granted.Plugins != nil && granted.Plugins.PState != nil {
		pstate := granted.Plugins.PState
		state.Plugins = &intel.Plugins{PState: &intel.PState{Monitoring: pstate.Monitoring}}
		if pstate.Ratio != 0 {
			state.Plugins.PState.Ratio = strconv.FormatFloat(pstate.Ratio, 'f', -1, 64)
		}
	}
	return state
}
