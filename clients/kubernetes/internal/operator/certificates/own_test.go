package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
)

// replica has a configuration with one webhook, which it calls by the first of hosts.
type replica struct {
	*Own
	api *fake.FakeDynamicClient
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	configuration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": map[string]any{"name": "nrd-operator", "resourceVersion": "1"},
		"webhooks": []any{map[string]any{"name": "pods", "clientConfig": map[string]any{
			"service": map[string]any{"name": "nrd-operator", "namespace": "nrd-system"}}}}}}
	api := fake.NewSimpleDynamicClient(runtime.NewScheme(), configuration)
	return &replica{NewOwn(api, "nrd-operator", "one"), api}
}

// see brings the configuration of now to the replica, and returns its caBundle.
func (r *replica) see(t *testing.T) []byte {
	t.Helper()
	found, err := r.api.Resource(configurations).Get(t.Context(), "nrd-operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.informer.GetStore().Add(found); err != nil {
		t.Fatal(err)
	}
	webhooks, _, _ := unstructured.NestedSlice(found.Object, "webhooks")
	text, _, _ := unstructured.NestedString(webhooks[0].(map[string]any), "clientConfig", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func (r *replica) step(t *testing.T, now time.Time) {
	t.Helper()
	if err := r.Own.step(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

// call begins a connection as an API server does that has this caBundle.
func (r *replica) call(t *testing.T, bundle []byte, now time.Time) error {
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
	lost := newReplica(t)
	r.Own.api, r.api = lost.api, lost.api
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
