package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, folder string, made *pair) {
	t.Helper()
	key, err := x509.MarshalECPrivateKey(made.serving.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: made.serving.Certificate[0]}, "tls.key": {Type: "EC PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRenewedFilesAreServedAndUnreadableOnesAreNot(t *testing.T) {
	folder := t.TempDir()
	if _, err := NewFiles(folder); err == nil || !strings.HasPrefix(err.Error(), "--cert-dir: ") {
		t.Errorf("%v", err)
	}
	expired, next := pairAt(t, "one", time.Now().Add(-2*lifetime)), pairAt(t, "one", time.Now())
	write(t, folder, expired)
	files, err := NewFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Ready(); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("%v", err)
	}
	write(t, folder, next)
	if err := os.WriteFile(filepath.Join(folder, "tls.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := files.read(); err == nil {
		t.Error("half a key is read")
	}
	if serving, _ := files.Certificate(nil); !bytes.Equal(serving.Certificate[0], expired.serving.Certificate[0]) {
		t.Error("the certificate of before is gone")
	}
	write(t, folder, next)
	if err := files.read(); err != nil {
		t.Fatal(err)
	}
	if serving, _ := files.Certificate(nil); !bytes.Equal(serving.Certificate[0], next.serving.Certificate[0]) || files.Ready() != nil {
		t.Error("the renewed certificate does not serve")
	}
}
