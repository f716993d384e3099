package webhook

import "fmt"

// Quotas tells which containers with CPUs of pools get a limit of CPU time: --cfs-quotas.
type Quotas string

// Values of Quotas.
const (
	QuotasAll    Quotas = "all"
	QuotasShared Quotas = "shared"
	QuotasNone   Quotas = "none"
)

// ReadQuotas reads --cfs-quotas.
func ReadQuotas(text string) (Quotas, error) {
	switch quotas := Quotas(text); quotas {
	case QuotasAll, QuotasShared, QuotasNone:
		return quotas, nil
	default:
		return "", fmt.Errorf("--cfs-quotas: %q is unknown (allowed: all, shared, none)", text)
	}
}

// exclusiveMargin of a container with exclusive CPUs alone, in thousandths of a CPU, so that it is never throttled.
const exclusiveMargin = 100

// cpus that a container requests of its pools.
type cpus struct {
	exclusive   int64 // whole CPUs
	sharedMilli int64
	sharedCPUs  int64 // of the shared pools
}

// pools is the value of CPU_POOLS.
func (c cpus) pools() string {
	switch {
	case c.exclusive > 0 && c.sharedMilli > 0:
		return "exclusive&shared"
	case c.exclusive > 0:
		return "exclusive"
	default:
		return "shared"
	}
}

// limit in thousandths of a CPU; false: none.
//
//	requests      all                              shared
//	shared        sharedMilli                      sharedMilli
//	exclusive     1000 * exclusive + 100           none
//	both          1000 * (exclusive + sharedCPUs)  sharedMilli
func (q Quotas) limit(c cpus) (int64, bool) {
	switch {
	case q == QuotasNone || c == cpus{}:
		return 0, false
	case c.exclusive == 0:
		return c.sharedMilli, true
	case q == QuotasShared:
		return c.sharedMilli, c.sharedMilli > 0
	case c.sharedMilli == 0:
		return 1000*c.exclusive + exclusiveMargin, true
	default:
		return 1000 * (c.exclusive + c.sharedCPUs), true
	}
}
