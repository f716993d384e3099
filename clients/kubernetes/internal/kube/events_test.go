package kube

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestALongEventKeepsTheLimitsOfTheAPIServer(t *testing.T) {
	e := NewEvents(nil, strings.Repeat("n", 253))
	about := Object{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: strings.Repeat("a", mostNameBase-1) + ".b", UID: "uid"}
	for _, begin := range []string{"", "a"} { // the limit is between two characters, or inside of one
		text, err := json.Marshal(e.event(about, Warning, "Refused", "Grant", begin+strings.Repeat("ü", mostNote)).Object)
		var event unstructured.Unstructured
		if err == nil {
			err = json.Unmarshal(text, &event.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		if note := event.Object["note"].(string); len(note) > mostNote || len(note) < mostNote-1 || strings.ContainsRune(note, '\uFFFD') {
			t.Errorf("%d bytes: %q", len(note), note[len(note)-4:])
		}
		if name := event.GetGenerateName(); strings.HasSuffix(name, ".-") {
			t.Errorf("%q begins no name of an object", name)
		}
	}
}
