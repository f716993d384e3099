package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"nrd.internal/kubernetes/internal/kube"
)

// filesInterval of looking for renewed files.
const filesInterval = 10 * time.Second

// Files serves with tls.crt and tls.key of a folder, as a Secret of type kubernetes.io/tls has them. Who writes them
// writes the caBundle, too.
type Files struct {
	folder  string
	serving atomic.Pointer[tls.Certificate]
}

// NewFiles fails if there is no certificate now.
func NewFiles(folder string) (*Files, error) {
	f := &Files{folder: folder}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("--cert-dir: %w", err)
	}
	return f, nil
}

func (f *Files) read() error {
	found, err := tls.LoadX509KeyPair(filepath.Join(f.folder, "tls.crt"), filepath.Join(f.folder, "tls.key"))
	if err == nil {
		f.serving.Store(&found)
	}
	return err
}

// Certificate for a connection.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.serving.Load(), nil
}

// Ready is nil until the certificate has expired.
func (f *Files) Ready() error {
	if time.Now().After(f.serving.Load().Leaf.NotAfter) {
		return errors.New("the certificate of --cert-dir has expired")
	}
	return nil
}

// Run reads renewed files until the context ends. What cannot be read leaves the certificate as it is.
func (f *Files) Run(ctx context.Context) error {
	pauses := kube.Pauses{Usual: filesInterval, AfterFailure: filesInterval}
	return kube.Repeat(ctx, kube.NewSignal(), pauses, "cannot read the certificate of --cert-dir again; serving with the one of before",
		func(context.Context) error { return f.read() })
}
