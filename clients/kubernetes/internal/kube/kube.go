// Package kube connects to the API server.
package kube

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Nodes of the cluster.
var Nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// mostManager characters of a field manager's name, a limit of the API server.
const mostManager = 128

// ManagerOf is what a node's client applies as. Each has its own: what a manager applied before and leaves out goes.
func ManagerOf(node string) string {
	name := "nrd-node-" + node
	if len(name) <= mostManager {
		return name
	}
	sum := sha256.Sum256([]byte(node))
	end := "-" + hex.EncodeToString(sum[:8])
	return name[:mostManager-len(end)] + end
}

// Dynamic client, for objects of all kinds, of the API server of a kubeconfig, or without one of the pod's service account.
func Dynamic(kubeconfig string) (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "nrd-kube"
	// A node client sends little; these bound it while everything changes at once.
	config.QPS, config.Burst = 20, 40
	return dynamic.NewForConfig(config)
}
