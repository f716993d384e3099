package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nrd.internal/kubernetes/internal/testservers"
)

// replica has a configuration with one webhook, which is never called: it has no rules.
type replica struct{ *Own }

func newReplica(t *testing.T) replica {
	t.Helper()
	api, _ := testservers.Client(t)
	made := testservers.Create(t, api.Resource(configurations), map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": map[string]any{"generateName": "nrd-certificates-"},
		"webhooks": []any{map[string]any{"name": "pods.noderesource.dev", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"service": map[string]any{"name": "nrd-operator", "namespace": "nrd-system"}}}}})
	return replica{NewOwn(api, made.GetName(), "one")}
}

// see brings the configuration of now to the replica, and returns its caBundle.
func (r replica) see(t *testing.T) []byte {
	t.Helper()
	found := testservers.Find(t, r.api.Resource(configurations), r.configuration)
	if err := r.informer.GetStore().Add(found); err != nil {
		t.Fatal(err)
	}
	configuration, err := r.found()
	if err != nil {
		t.Fatal(err)
	}
	return configuration.Webhooks[0].ClientConfig.CABundle
}

// lose the authorities, as when the manifest is applied again.
func (r replica) lose(t *testing.T) {
	t.Helper()
	if _, err := r.api.Resource(configurations).Patch(t.Context(), r.configuration, types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (r replica) step(t *testing.T, now time.Time) {
	t.Helper()
	if err := r.Own.step(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

// call begins a connection as an API server does that has this caBundle.
func (r replica) call(t *testing.T, bundle []byte, now time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	near, far := net.Pipe()
	defer near.Close()
	go tls.Server(far, &tls.Config{GetCertificate: r.Certificate}).Handshake()
	return tls.Client(near, &tls.Config{RootCAs: roots, ServerName: hosts[0], Time: func() time.Time { return now }}).Handshake()
}

func TestRenewalsAreNeverSeenByAnAPIServerThatLearnsOfThemLate(t *testing.T) {
	r := newReplica(t)
	start := time.Now()
	r.see(t)
	r.step(t, start)
	known := r.see(t)
	serving, renewals := r.serving.Load(), 0
	for now := start; now.Before(start.Add(3 * lifetime)); now = now.Add(time.Hour) {
		r.step(t, now)
		written := r.see(t)
		r.step(t, now) // a change of the configuration is a step
		for _, each := range [][]byte{known, written} {
			if err := r.call(t, each, now); err != nil {
				t.Fatalf("after %v: %v", now.Sub(start), err)
			}
		}
		if next := r.serving.Load(); next != serving {
			serving = next
			renewals++
		}
		if known = written; count(known) > 2 {
			t.Fatalf("after %v there are %d authorities of one replica", now.Sub(start), count(known))
		}
	}
	if want := int(3*lifetime/renewal) - 1; renewals != want {
		t.Errorf("%d renewals, want %d", renewals, want)
	}
}

func TestALostBundleHasBothAuthoritiesOfARenewalAgain(t *testing.T) {
	r := newReplica(t)
	start := time.Now()
	r.see(t)
	r.step(t, start)
	r.see(t)
	r.step(t, start.Add(renewal))
	r.lose(t)
	r.see(t)
	r.step(t, start.Add(renewal))
	written := r.see(t)
	if err := r.call(t, written, start.Add(renewal)); err != nil || count(written) != 2 {
		t.Errorf("%v, %d authorities, want two", err, count(written))
	}
	r.step(t, start.Add(renewal+spread))
	if err := r.call(t, written, start.Add(renewal+spread)); err != nil || r.next != nil {
		t.Errorf("%v, want the renewed certificate to serve", err)
	}
}
