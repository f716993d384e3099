package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pool of CPUs, as far as an annotation depends on it.
type Pool struct {
	IsExclusive bool
	// CPUs of the pool, on the node where it has most.
	CPUs int
	// CPUsOfDevice: 2 if a device of an exclusive pool is a whole core.
	CPUsOfDevice int
	// IsMixed: exclusive on some nodes and shared on others, so that a number can be CPUs or thousandths.
	IsMixed bool
}

// Pools by name.
type Pools map[string]Pool

// Add a pool of one node.
func (p Pools) Add(name string, pool Pool) {
	if known, isKnown := p[name]; isKnown {
		pool.IsMixed = known.IsMixed || pool.IsMixed || known.IsExclusive != pool.IsExclusive
		pool.CPUs = max(pool.CPUs, known.CPUs)
		pool.CPUsOfDevice = max(pool.CPUsOfDevice, known.CPUsOfDevice)
	}
	p[name] = pool
}

// names of the pools for an error.
func (p Pools) names() string {
	if len(p) == 0 {
		return "a pool, but no node has one"
	}
	return "one of " + clipped(strings.Join(slices.Sorted(maps.Keys(p)), ", "))
}

// Refuse is nil if a number of CPUs of this pool has one meaning.
func (p Pools) Refuse(name string) error {
	pool, isKnown := p[name]
	switch {
	case !isKnown:
		return fmt.Errorf("unknown pool %s; expected %s", quoted(name), p.names())
	case pool.IsMixed:
		return fmt.Errorf("pool %s is exclusive on some nodes and shared on others; expected a pool of one kind", quoted(name))
	default:
		return nil
	}
}

// Find a container's part of the annotation.
func Find(containers []Container, name string) (Container, bool) {
	for _, each := range containers {
		if each.Name == name {
			return each, true
		}
	}
	return Container{}, false
}

// CheckContainers refuses an annotation that names a container which the pod does not have.
func CheckContainers(containers []Container, names []string) error {
	for _, each := range containers {
		if !slices.Contains(names, each.Name) {
			return reader{each.key}.fail(each.at+"/container", "the pod has no container "+quoted(each.Name),
				"one of "+clipped(strings.Join(names, ", ")))
		}
	}
	return nil
}

// CheckPools refuses pools that no node has.
func (c Container) CheckPools(pools Pools) error {
	for _, process := range c.Processes {
		if err := pools.Refuse(process.Pool); err != nil {
			return fmt.Errorf("annotation %s: %s/pool: %w", c.key, process.at, err)
		}
	}
	return nil
}

// Sums of the processes by pool.
func (c Container) Sums() map[string]int64 {
	sums := map[string]int64{}
	for _, process := range c.Processes {
		sums[process.Pool] += process.CPUs
	}
	return sums
}

// CheckRequests compares the processes with what the container requests of each pool. The sum of a shared pool must be
// what is requested; of an exclusive one it may be up to twice that, because a whole core can have two CPUs.
func (c Container) CheckRequests(base string, requested map[string]int64, pools Pools) error {
	if err := c.CheckPools(pools); err != nil {
		return err
	}
	sums := c.Sums()
	for _, process := range c.Processes {
		has, isRequested := requested[process.Pool]
		if !isRequested {
			return reader{c.key}.fail(process.at+"/pool", "the container does not request "+base+"/"+process.Pool,
				"a pool of its resources.limits")
		}
		sum := sums[process.Pool]
		if pools[process.Pool].IsExclusive && sum > 2*has {
			return reader{c.key}.fail(c.at+"/processes", fmt.Sprintf("%d CPUs of pool %s, but the container requests %d", sum, process.Pool, has),
				fmt.Sprintf("at most %d", 2*has))
		}
		if !pools[process.Pool].IsExclusive && sum != has {
			return reader{c.key}.fail(c.at+"/processes",
				fmt.Sprintf("%d thousandths of a CPU of pool %s, but the container requests %d", sum, process.Pool, has), "equal numbers")
		}
	}
	return nil
}
