package webhook

import (
	"strconv"
	"strings"
)

// Operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch changes single members, so that members which this program does not know stay in the pod.
type Patch []Operation

// set adds a member or replaces it.
func (p *Patch) set(path string, value any) { *p = append(*p, Operation{"add", path, value}) }

func (p *Patch) remove(path string) { *p = append(*p, Operation{Op: "remove", Path: path}) }

// list appends to a list of the pod, which is made with the first item if there is none.
type list struct {
	patch  *Patch
	path   string
	length int
}

func (l *list) append(item any) {
	if l.length == 0 {
		l.patch.set(l.path, []any{item})
	} else {
		l.patch.set(l.path+"/-", item)
	}
	l.length++
}

// replace an item. "add" would insert one before it.
func (l *list) replace(index int, item any) {
	*l.patch = append(*l.patch, Operation{"replace", l.path + "/" + strconv.Itoa(index), item})
}

// member is a JSON pointer's last part for a key.
func member(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
