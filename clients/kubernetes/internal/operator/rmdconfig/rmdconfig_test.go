package rmdconfig

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOnlyTheLabelsOfTheRmdConfigChange(t *testing.T) {
	for _, row := range []struct {
		name, selector, noted string
		wanted                map[string]string
		patch                 string // of selector and annotation; empty: none
	}{
		{"no RmdConfig", `{"kubernetes.io/os": "linux"}`, ``, nil, ``},
		{"a first one", `{"kubernetes.io/os": "linux"}`, ``, map[string]string{"rdt": "true"}, `[{"rdt":"true"},"{\"rdt\":\"true\"}"]`},
		{"the same again", `{"kubernetes.io/os": "linux", "rdt": "true"}`, `{"rdt":"true"}`, map[string]string{"rdt": "true"}, ``},
		{"changed by another", `{"kubernetes.io/os": "linux", "rdt": "no"}`, `{"rdt":"true"}`, map[string]string{"rdt": "true"}, `[{"rdt":"true"},"{\"rdt\":\"true\"}"]`},
		{"another label", `{"kubernetes.io/os": "linux", "rdt": "true"}`, `{"rdt":"true"}`, map[string]string{"rack": "1"}, `[{"rack":"1","rdt":null},"{\"rack\":\"1\"}"]`},
		{"gone", `{"kubernetes.io/os": "linux", "rdt": "true"}`, `{"rdt":"true"}`, nil, `[{"rdt":null},null]`},
		{"a label of the DaemonSet, too", `{"kubernetes.io/os": "linux"}`, ``, map[string]string{"kubernetes.io/os": "linux"}, ``},
		{"one of the DaemonSet and another", `{"kubernetes.io/os": "linux"}`, ``, map[string]string{"kubernetes.io/os": "linux", "rdt": "true"},
			`[{"rdt":"true"},"{\"rdt\":\"true\"}"]`},
		{"gone, and the label too", `{"kubernetes.io/os": "linux"}`, `{"rdt":"true"}`, nil, `[{},null]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var selector map[string]any
			if err := json.Unmarshal([]byte(row.selector), &selector); err != nil {
				t.Fatal(err)
			}
			found := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"},
				"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"nodeSelector": selector}}}}}
			if row.noted != "" {
				found.SetAnnotations(map[string]string{noted: row.noted})
			}
			patch, err := difference(found, row.wanted)
			if err != nil {
				t.Fatal(err)
			}
			if row.patch == "" {
				if patch != nil {
					t.Errorf("%v, want no patch", patch)
				}
				return
			}
			changes, _, _ := unstructured.NestedFieldNoCopy(patch, "spec", "template", "spec", "nodeSelector")
			note, _, _ := unstructured.NestedFieldNoCopy(patch, "metadata", "annotations", noted)
			version, _, _ := unstructured.NestedString(patch, "metadata", "resourceVersion")
			if text, _ := json.Marshal([]any{changes, note}); string(text) != row.patch || version != "7" {
				t.Errorf("%s of version %s, want %s", text, version, row.patch)
			}
		})
	}
}

func TestALabelOfTheDaemonSetIsNotReplaced(t *testing.T) {
	found := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"nodeSelector": map[string]any{"kubernetes.io/os": "linux"}}}}}}
	patch, err := difference(found, map[string]string{"kubernetes.io/os": "other", "rdt": "true"})
	if want := `label kubernetes.io/os is "other" in the RmdConfig and "linux" in the DaemonSet's own`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, %v, want %s", patch, err, want)
	}
}

func TestAnUnreadableNoteIsNamed(t *testing.T) {
	found := &unstructured.Unstructured{Object: map[string]any{}}
	found.SetAnnotations(map[string]string{noted: "["})
	if _, err := difference(found, nil); err == nil {
		t.Error("no error")
	}
}
