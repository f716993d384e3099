package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"path"

	"nrd.internal/kubernetes/internal/operator"
	"nrd.internal/kubernetes/internal/operator/webhook"
)

func runOperator(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("nrd-kube operator", flag.ContinueOnError)
	var options operator.Options
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "`FILE` (default: the service account in the cluster)")
	flags.StringVar(&options.Webhook, "webhook", ":9443", "`ADDRESS` of the webhook")
	flags.StringVar(&options.CertDir, "cert-dir", "", "`DIR` with tls.crt and tls.key (default: makes its own, and writes the authority into the webhook's configuration)")
	flags.StringVar(&options.Health, "health", ":9809", "`ADDRESS` of health and metrics; empty: none")
	flags.StringVar(&options.Rules.Base, "resource-base", defaultBase, "`DOMAIN` of the names of CPU pools and of the annotation of CPUs")
	flags.StringVar(&options.Rules.Starter, "process-starter-path", "", "`PATH` on each host of what starts processes in containers (default: /opt/bin/nrdctl)")
	quotas := flags.String("cfs-quotas", string(webhook.QuotasAll), "`all|shared|none`: which containers with CPUs of pools get a limit of CPU time")
	if err := parse(flags, arguments); err != nil {
		return err
	}
	var err error
	if options.Rules.Quotas, err = webhook.ReadQuotas(*quotas); err != nil {
		return err
	}
	if starter := options.Rules.Starter; starter != "" && (!path.IsAbs(starter) || path.Clean(starter) != starter) {
		return errors.New("--process-starter-path: expected an absolute path such as /opt/bin/process-starter")
	}
	slog.Info("starting", "version", version())
	return operator.Run(ctx, options)
}
