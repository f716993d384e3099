// Package kube connects to the API server.
package kube

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config from a file, or without one from the service account of the pod.
func Config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "nrd-kube"
	// A node client sends little; these bound it while everything changes at once.
	config.QPS, config.Burst = 20, 40
	return config, nil
}

// Dynamic client: objects of kinds that this program does not compile in, such as CRs.
func Dynamic(kubeconfig string) (dynamic.Interface, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}
