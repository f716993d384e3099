package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mostAmount of a resource: more than any node has, and far from an overflow of sums.
const mostAmount = 1_000_000_000

// requestedPools are the amounts that a container requests of each pool of the base.
func requestedPools(container *corev1.Container, path, base string) (map[string]int64, error) {
	requested := map[string]int64{}
	for name, quantity := range container.Resources.Limits {
		pool, isPool := strings.CutPrefix(string(name), base+"/")
		if !isPool {
			continue
		}
		amount, err := wholeAmount(quantity)
		if err != nil {
			return nil, fmt.Errorf("%s/resources/limits%s: %w", path, member(string(name)), err)
		}
		if amount > 0 {
			requested[pool] = amount
		}
	}
	return requested, nil
}

// wholeAmount reads all forms of a quantity: "2000", "2k", "2e3", "2Ki".
func wholeAmount(quantity resource.Quantity) (int64, error) {
	amount := quantity.Value() // rounded up, and the largest number if it is above that
	if amount < 0 || amount > mostAmount || quantity.Cmp(*resource.NewQuantity(amount, resource.DecimalSI)) != 0 {
		return 0, fmt.Errorf("%s is not a whole number; expected 0 to %d", quantity.String(), mostAmount)
	}
	return amount, nil
}

func sortedKeys(values map[string]string) []string { return slices.Sorted(maps.Keys(values)) }
