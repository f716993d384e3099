package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"nrd.internal/kubernetes/internal/node"
)

func runNode(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("nrd-kube node", flag.ContinueOnError)
	var options node.Options
	flags.StringVar(&options.Node, "node", "", "`NAME` of the node in Kubernetes")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "`FILE` (default: the service account in the cluster)")
	nodeSockets(flags, &options.NRDSocket, &options.NRISocket, &options.KubeletDir, &options.PluginsDir)
	flags.StringVar(&options.Health, "health", "127.0.0.1:9808", "`ADDRESS` of health and metrics; empty: none")
	flags.StringVar(&options.ResourceBase, "resource-base", defaultBase, "`DOMAIN` of the names of CPU pools")
	resources := flags.String("resources", defaultResources, "`LIST` of what is advertised")
	if err := parse(flags, arguments); err != nil {
		return err
	}
	if options.Node == "" {
		return errors.New("node: --node is required: the name of this node in Kubernetes, spec.nodeName of the pod")
	}
	var err error
	if options.Resources, err = kindsOf(*resources); err != nil {
		return err
	}
	slog.Info("starting", "version", version())
	return node.Run(ctx, options)
}

const (
	defaultBase      = "nokia.k8s.io"
	defaultResources = "ways,onload,pools"
	// defaultSocket has a folder of its own, because deploy/ mounts the folder: beside the administrators' socket, root in
	// the container would be an administrator of nrd.
	defaultSocket = "/run/nrd/kubernetes/nrd.sock"
)

func nodeSockets(flags *flag.FlagSet, nrd, nri, kubelet, plugins *string) {
	flags.StringVar(nrd, "nrd-socket", defaultSocket, "`SOCKET` of nrd for this client")
	flags.StringVar(nri, "nri-socket", "/var/run/nri/nri.sock", "`SOCKET` of the container runtime's NRI")
	flags.StringVar(kubelet, "kubelet-dir", "/var/lib/kubelet", "`DIR` of kubelet, its --root-dir")
	flags.StringVar(plugins, "device-plugins", "/var/lib/kubelet/device-plugins", "`DIR` of kubelet's device plugins, the same for each --root-dir")
}

// kindsOf reads --resources.
func kindsOf(list string) ([]string, error) {
	kinds := strings.Split(list, ",")
	for _, kind := range kinds {
		if !slices.Contains(strings.Split(defaultResources, ","), kind) {
			return nil, fmt.Errorf("--resources: %q is unknown (allowed: %s)", kind, defaultResources)
		}
	}
	return kinds, nil
}

// parse refuses arguments that are no options.
func parse(flags *flag.FlagSet, arguments []string) error {
	flags.SetOutput(os.Stderr)
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return context.Canceled // the help is printed; success
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
		return errUsage
	}
	return nil
}
