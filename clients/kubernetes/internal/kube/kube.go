// Package kube connects to the API server.
package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Nodes of the cluster.
var Nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

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
