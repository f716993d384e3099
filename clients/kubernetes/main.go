// nrd-kube connects nrd to Kubernetes: "nrd-kube node" on each node, "nrd-kube operator" once in the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

const usage = `usage: nrd-kube COMMAND [OPTION]...

  node --node NAME   on each node: devices, containers, workloads and state of the node
  operator           once in the cluster: webhook, RmdConfig
  check              on a node: what is missing, and the remedy
  image OUT.tar      write an OCI archive with this program

nrd-kube COMMAND --help lists the options, nrd-kube --version prints the commit.
`

// errUsage means that the message has been printed.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "nrd-kube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, output io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errUsage
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "node":
		return runNode(ctx, rest)
	case "operator":
		return runOperator(ctx, rest)
	case "check":
		return runCheck(ctx, rest, output)
	case "image":
		return runImage(rest, output)
	case "--version":
		fmt.Fprintln(output, "nrd-kube", version())
		return nil
	case "--help", "-h", "help":
		fmt.Fprint(output, usage)
		return nil
	default:
		fmt.Fprintf(os.Stderr, "nrd-kube: unknown command %q\n%s", command, usage)
		return errUsage
	}
}

// version is the commit from which "go build" has built the program.
func version() string {
	const shown = 12 // digits
	if info, isKnown := debug.ReadBuildInfo(); isKnown {
		for _, each := range info.Settings {
			if each.Key == "vcs.revision" {
				return each.Value[:min(len(each.Value), shown)]
			}
		}
	}
	return "of an unknown commit"
}
