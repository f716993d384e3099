package health

import (
	"fmt"
	"io"
	"sync"
)

// Metrics of the program in Prometheus' text format.
type Metrics struct {
	mutex    sync.Mutex
	counters []*Counter
}

// Counter with one label.
type Counter struct {
	name, help, label string
	values            []string

	mutex  sync.Mutex
	counts map[string]uint64
}

// Counter adds one that has these values of its label, and no others.
func (m *Metrics) Counter(name, help, label string, values ...string) *Counter {
	counter := &Counter{name: name, help: help, label: label, values: values, counts: map[string]uint64{}}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.counters = append(m.counters, counter)
	return counter
}

// Add one.
func (c *Counter) Add(value string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counts[value]++
}

func (m *Metrics) write(output io.Writer, isReady bool) {
	ready := 0
	if isReady {
		ready = 1
	}
	fmt.Fprintf(output, "# HELP nrd_kube_ready 1 while /readyz is ok.\n# TYPE nrd_kube_ready gauge\nnrd_kube_ready %d\n", ready)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, counter := range m.counters {
		counter.write(output)
	}
}

func (c *Counter) write(output io.Writer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	fmt.Fprintf(output, "# HELP %s %s\n# TYPE %s counter\n", c.name, c.help, c.name)
	for _, value := range c.values {
		fmt.Fprintf(output, "%s{%s=%q} %d\n", c.name, c.label, value, c.counts[value])
	}
}
