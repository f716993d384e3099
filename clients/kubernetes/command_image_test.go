package main

import "testing"

func TestAPortIsNoTag(t *testing.T) {
	for _, row := range []struct{ name, repository, tag string }{
		{"nrd.internal/nrd-kube:1", "nrd.internal/nrd-kube", "1"},
		{"registry:5000/nrd-kube:1", "registry:5000/nrd-kube", "1"},
		{"registry:5000/nrd-kube", "registry:5000/nrd-kube", ""},
		{"nrd-kube", "nrd-kube", ""},
		{"nrd-kube:", "nrd-kube", ""},
		{":1", "", "1"},
	} {
		if repository, tag := cutTag(row.name); repository != row.repository || tag != row.tag {
			t.Errorf("%s: %q and %q, want %q and %q", row.name, repository, tag, row.repository, row.tag)
		}
	}
}
