// Package cpulist reads and writes the kernel's lists of CPUs: "0-3,8".
package cpulist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostCPUs bounds a list: "0-4000000000" must not fill the memory.
const mostCPUs = 8192

// Parse gives the CPUs in ascending order, each once.
func Parse(text string) ([]int, error) {
	var cpus []int
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		first, last, isRange := strings.Cut(item, "-")
		low, err := number(first)
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
		}
		high := low
		if isRange {
			if high, err = number(last); err != nil || high < low {
				return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
			}
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
		if len(cpus) > mostCPUs {
			return nil, fmt.Errorf("a list of CPUs has more than %d of them", mostCPUs)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func number(text string) (int, error) {
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil || value >= mostCPUs {
		return 0, fmt.Errorf("no number of a CPU: %q", text)
	}
	return int(value), nil
}

// Format writes ranges: "0-3,8".
func Format(cpus []int) string {
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	var items []string
	for first := 0; first < len(cpus); {
		last := first
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		item := strconv.Itoa(cpus[first])
		if last > first {
			item += "-" + strconv.Itoa(cpus[last])
		}
		items = append(items, item)
		first = last + 1
	}
	return strings.Join(items, ",")
}

// Plain writes no ranges: "4,5,6". Programs that split at commas read it as well as those that know ranges.
func Plain(cpus []int) string {
	items := make([]string, 0, len(cpus))
	for _, cpu := range slices.Compact(slices.Sorted(slices.Values(cpus))) {
		items = append(items, strconv.Itoa(cpu))
	}
	return strings.Join(items, ",")
}

// Union of several lists, as one list with ranges.
func Union(lists ...string) (string, error) {
	cpus, err := Parse(strings.Join(lists, ","))
	if err != nil {
		return "", err
	}
	return Format(cpus), nil
}

// Intersection of two lists, with ranges.
func Intersection(one, other string) (string, error) {
	cpus, err := Parse(one)
	if err != nil {
		return "", err
	}
	others, err := Parse(other)
	if err != nil {
		return "", err
	}
	return Format(slices.DeleteFunc(cpus, func(cpu int) bool { return !slices.Contains(others, cpu) })), nil
}
