package main

import (
	"context"
	"flag"
	"io"

	"nrd.internal/kubernetes/internal/node/preflight"
)

func runCheck(ctx context.Context, arguments []string, output io.Writer) error {
	flags := flag.NewFlagSet("nrd-kube check", flag.ContinueOnError)
	options := preflight.Options{CgroupRoot: "/sys/fs/cgroup"}
	nodeSockets(flags, &options.NRDSocket, &options.NRISocket, &options.KubeletDir, &options.PluginsDir)
	flags.StringVar(&options.ResourceBase, "resource-base", defaultBase, "`DOMAIN` of the names of CPU pools")
	resources := flags.String("resources", defaultResources, "`LIST` of what should be advertised")
	if err := parse(flags, arguments); err != nil {
		return err
	}
	var err error
	if options.Resources, err = kindsOf(*resources); err != nil {
		return err
	}
	return preflight.Run(ctx, options, output)
}
