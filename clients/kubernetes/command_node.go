package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"nrd.internal/kubernetes/internal/node"
)

func runNode(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("nrd-kube node", flag.ContinueOnError)
	var options node.Options
	flags.StringVar(&options.Node, "node", "", "`NAME` of the node in Kubernetes")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "`FILE` (default: the service account in the cluster)")
	flags.StringVar(&options.NRDSocket, "nrd-socket", "/run/nrd/kubernetes.sock", "`SOCKET` of nrd for this client")
	flags.StringVar(&options.NRISocket, "nri-socket", "/var/run/nri/nri.sock", "`SOCKET` of the container runtime's NRI")
	flags.StringVar(&options.KubeletDir, "kubelet-dir", "/var/lib/kubelet", "`FOLDER` of kubelet")
	flags.StringVar(&options.Health, "health", "127.0.0.1:9808", "`ADDRESS` of health and metrics; empty: none")
	flags.StringVar(&options.ResourceBase, "resource-base", "nokia.k8s.io", "`DOMAIN` of the names of CPU pools")
	resources := flags.String("resources", "ways,onload,pools", "`LIST` of what is advertised")
	if err := parse(flags, arguments); err != nil {
		return err
	}
	if options.Node == "" {
		return errors.New("node: --node is required: the name of this node in Kubernetes, spec.nodeName of the pod")
	}
	for name := range strings.SplitSeq(*resources, ",") {
		if name != "ways" && name != "onload" && name != "pools" {
			return fmt.Errorf("node: --resources: %q is unknown (allowed: ways, onload, pools)", name)
		}
		options.Resources = append(options.Resources, name)
	}
	return node.Run(ctx, options)
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
