package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"nrd.internal/kubernetes/internal/image"
)

// imageName is what deploy/ refers to.
const imageName = "nrd.internal/nrd-kube:1"

func runImage(arguments []string, output io.Writer) error {
	flags := flag.NewFlagSet("nrd-kube image", flag.ContinueOnError)
	name := flags.String("name", imageName, "`NAME:TAG` of the image")
	flags.SetOutput(os.Stderr)
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return errUsage
	}
	repository, tag := cutTag(*name)
	if flags.NArg() != 1 || repository == "" || tag == "" {
		return errors.New("image: expected one file and --name NAME:TAG, such as: nrd-kube image nrd-kube.tar")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := image.Write(flags.Arg(0), program, repository, tag); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	fmt.Fprintf(output, "%s: image %s; on each node: ctr -n k8s.io images import %s\n", flags.Arg(0), *name, flags.Arg(0))
	return nil
}

// cutTag leaves the tag empty if there is none: the colon of "registry:5000/nrd-kube" begins a port.
func cutTag(name string) (repository, tag string) {
	at := strings.LastIndex(name, ":")
	if at < 0 || strings.Contains(name[at:], "/") {
		return name, ""
	}
	return name[:at], name[at+1:]
}
