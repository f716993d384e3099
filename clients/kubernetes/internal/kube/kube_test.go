package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestEachNodeHasAManagerThatTheAPIServerAccepts(t *testing.T) {
	const mostName = 253
	seen := map[string]bool{}
	for _, node := range []string{"node-a", strings.Repeat("a", mostName), strings.Repeat("a", mostName-1) + "b"} {
		manager := ManagerOf(node)
		if problems := validation.ValidateFieldManager(manager, field.NewPath("fieldManager")); len(problems) > 0 || seen[manager] {
			t.Errorf("%s: %v, seen before: %v", manager, problems, seen[manager])
		}
		seen[manager] = true
	}
	if ManagerOf("node-a") != "nrd-node-node-a" {
		t.Error(ManagerOf("node-a"))
	}
}
