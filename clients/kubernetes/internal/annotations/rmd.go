// Package annotations reads what a pod's author wrote into annotations. The webhook and the node role refuse with the same
// words, because both read with this package.
package annotations

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"nrd.internal/kubernetes/internal/nrd"
)

// RMD has the annotations of the RMD operator for one container: NAME_policy, NAME_cache_min, …, where NAME is the container's whole
// name. (The operator compared beginnings, so that container "a" also read "ab_policy".)
type RMD struct {
	Policy     string
	CacheMin   *int64
	Ratio      float64
	Monitoring string
	MBA        nrd.MBA
}

const (
	mostValue = 64  // characters of an annotation's value; the longest legal one is a policy's name
	mostRatio = 1e6 // more than any
)

const cacheMin = "_cache_min"

// ofRMD are the annotations, by what follows the container's name.
var ofRMD = []struct {
	suffix string
	read   func(found *RMD, text string) error
}{
	{"_policy", func(found *RMD, text string) error { found.Policy = text; return nil }},
	{cacheMin, func(found *RMD, text string) error {
		value, err := wholeNumber(text)
		found.CacheMin = &value
		return err
	}},
	{"_pstate_ratio", func(found *RMD, text string) (err error) { found.Ratio, err = Ratio(text); return err }},
	{"_pstate_monitoring", func(found *RMD, text string) (err error) { found.Monitoring, err = onOff(text); return err }},
	{"_mba_percentage", func(found *RMD, text string) (err error) { found.MBA.Percentage, err = wholeNumber(text); return err }},
	{"_mba_mbps", func(found *RMD, text string) (err error) { found.MBA.Mbps, err = wholeNumber(text); return err }},
}

// Ignored tells which annotations of a container have no effect: all without devices, and without ways that of their least number.
func Ignored(container string, annotations map[string]string, hasDevices, hasWays bool) []string {
	var found []string
	for _, each := range ofRMD {
		_, isSet := annotations[container+each.suffix]
		switch {
		case !isSet:
		case !hasDevices:
			found = append(found, "annotation "+container+each.suffix+" has no effect: the container requests neither cache ways nor Onload nor CPUs of a pool")
		case !hasWays && each.suffix == cacheMin:
			found = append(found, "annotation "+container+each.suffix+" has no effect: the container requests no cache ways")
		}
	}
	return found
}

// ReadRMD reads the annotations of one container. An error names the annotation and what is allowed.
func ReadRMD(container string, annotations map[string]string) (RMD, error) {
	var found RMD
	for _, each := range ofRMD {
		text, isSet := annotations[container+each.suffix]
		if !isSet {
			continue
		}
		if len(text) > mostValue {
			return RMD{}, fmt.Errorf("annotation %s%s: longer than %d characters", container, each.suffix, mostValue)
		}
		if err := each.read(&found, strings.TrimSpace(text)); err != nil {
			return RMD{}, fmt.Errorf("annotation %s%s: %w", container, each.suffix, err)
		}
	}
	return found, nil
}

func wholeNumber(text string) (int64, error) {
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number (allowed: 0 to %d)", text, uint32(math.MaxUint32))
	}
	return int64(value), nil
}

// Ratio reads a number as the CRD of RmdWorkloads allows it: "3" or "3.0", and no other form that Go knows.
func Ratio(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" || value <= 0 || value >= mostRatio {
		return 0, fmt.Errorf("%q is not a positive number such as 3.0", text)
	}
	return value, nil
}

func onOff(text string) (string, error) {
	if text != "on" && text != "off" {
		return "", fmt.Errorf("%q is neither on nor off", text)
	}
	return text, nil
}
