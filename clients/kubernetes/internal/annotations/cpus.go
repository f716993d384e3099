package annotations

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of CPU Pooler's annotation: those of nrdctl run --processes, which starts what is read here.
const (
	mostText       = 256 << 10 // the API server's limit of all annotations of an object
	mostContainers = 1024
	mostProcesses  = 64 // of a container
	mostArguments  = 1024
	mostCPUs       = 1_000_000 // thousandths of a CPU
)

// Process of CPU Pooler's annotation.
type Process struct {
	Pool string
	// CPUs of an exclusive pool, thousandths of a CPU of a shared one.
	CPUs int64
	at   string // JSON pointer in the annotation
}

// Container of CPU Pooler's annotation.
type Container struct {
	Name      string
	Processes []Process
	key, at   string
}

// ReadCPUs reads CPU Pooler's annotation:
//
//	[{"container": "main", "processes": [{"process": "/bin/feed", "args": ["-v"], "pool": "fast", "cpus": 2}]}]
//
// key is its name. Errors have the JSON pointer in the annotation, what is wrong there, and what is expected.
func ReadCPUs(key, text string) ([]Container, error) {
	r := reader{key}
	if len(text) > mostText {
		return nil, r.fail("", fmt.Sprintf("%d bytes are too many", len(text)), fmt.Sprintf("at most %d", mostText))
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // a fraction stays what it is
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, r.fail("", "not JSON ("+err.Error()+")", form)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, r.fail("", "not JSON (more follows after the list)", form)
	}
	items, err := r.list(document, "", 1, mostContainers)
	if err != nil {
		return nil, err
	}
	containers := make([]Container, 0, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		container, err := r.container(item, "/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if seen[container.Name] {
			return nil, r.fail(container.at+"/container", quoted(container.Name)+" occurs a second time", "each container once")
		}
		seen[container.Name] = true
		containers = append(containers, container)
	}
	return containers, nil
}

// form is what the whole annotation has to be.
const form = `[{"container": NAME, "processes": [{"process": PROGRAM, "args": [], "pool": POOL, "cpus": NUMBER}]}]`

// reader makes errors of one annotation.
type reader struct{ key string }

func (r reader) fail(at, problem, expected string) error {
	if at == "" {
		at = "/"
	}
	return fmt.Errorf("annotation %s: %s: %s; expected %s", r.key, at, problem, expected)
}

func (r reader) container(item any, at string) (Container, error) {
	members, err := r.object(item, at, "container", "processes")
	if err != nil {
		return Container{}, err
	}
	container := Container{key: r.key, at: at}
	if container.Name, err = r.text(members, at, "container"); err != nil {
		return Container{}, err
	}
	items, err := r.list(members["processes"], at+"/processes", 1, mostProcesses)
	if err != nil {
		return Container{}, err
	}
	for i, each := range items {
		process, err := r.process(each, at+"/processes/"+strconv.Itoa(i))
		if err != nil {
			return Container{}, err
		}
		container.Processes = append(container.Processes, process)
	}
	return container, nil
}

func (r reader) process(item any, at string) (Process, error) {
	members, err := r.object(item, at, "process", "args", "pool", "cpus")
	if err != nil {
		return Process{}, err
	}
	if _, err := r.text(members, at, "process"); err != nil {
		return Process{}, err
	}
	process := Process{at: at}
	if process.Pool, err = r.text(members, at, "pool"); err != nil {
		return Process{}, err
	}
	if arguments, isThere := members["args"]; isThere {
		list, err := r.list(arguments, at+"/args", 0, mostArguments)
		if err != nil {
			return Process{}, err
		}
		for i, each := range list {
			if _, isText := each.(string); !isText {
				return Process{}, r.fail(at+"/args/"+strconv.Itoa(i), "not a string", "a string")
			}
		}
	}
	process.CPUs, err = r.cpus(members["cpus"], at+"/cpus")
	return process, err
}

func (r reader) cpus(value any, at string) (int64, error) {
	expected := fmt.Sprintf("a whole number from 1 to %d: CPUs of an exclusive pool, thousandths of a CPU of a shared one", mostCPUs)
	if value == nil {
		return 0, r.fail(at, "missing", expected)
	}
	number, isNumber := value.(json.Number)
	if !isNumber {
		return 0, r.fail(at, "not a number", expected)
	}
	cpus, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || cpus < 1 || cpus > mostCPUs {
		return 0, r.fail(at, clipped(number.String())+" is out of range", expected)
	}
	return cpus, nil
}

func (r reader) object(item any, at string, known ...string) (map[string]any, error) {
	members, isObject := item.(map[string]any)
	if !isObject {
		return nil, r.fail(at, "not an object", "an object with "+strings.Join(known, ", "))
	}
	for name := range members {
		if !slices.Contains(known, name) {
			return nil, r.fail(at, "unknown member "+quoted(name), strings.Join(known, ", "))
		}
	}
	return members, nil
}

func (r reader) list(value any, at string, least, most int) ([]any, error) {
	expected := fmt.Sprintf("a list of %d to %d", least, most)
	if value == nil {
		return nil, r.fail(at, "missing", expected)
	}
	items, isList := value.([]any)
	if !isList {
		return nil, r.fail(at, "not a list", expected)
	}
	if len(items) < least || len(items) > most {
		return nil, r.fail(at, fmt.Sprintf("has %d items", len(items)), expected)
	}
	return items, nil
}

func (r reader) text(members map[string]any, at, name string) (string, error) {
	value, isThere := members[name]
	text, isText := value.(string)
	switch {
	case !isThere:
		return "", r.fail(at+"/"+name, "missing", "a string")
	case !isText || text == "":
		return "", r.fail(at+"/"+name, "not a string of at least one character", "a string")
	}
	return text, nil
}

// mostShown bounds what an error repeats of its input.
const mostShown = 80

func quoted(text string) string { return strconv.Quote(clipped(text)) }

func clipped(text string) string {
	if len(text) <= mostShown {
		return text
	}
	end := mostShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
