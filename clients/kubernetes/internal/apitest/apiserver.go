// Package apitest has the servers that nrd-kube talks to, for tests: the real API server that clients/kubernetes/test has
// started, and the real nrd on a simulated node. It is part of no program.
package apitest

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Connection of a client, which a test can cut.
type Connection struct{ isCut atomic.Bool }

// Cut it, or mend it.
func (c *Connection) Cut(isCut bool) { c.isCut.Store(isCut) }

// Client with all rights. Tests that need it are skipped without an API server; tests/test_go.py runs them.
func Client(t *testing.T) (dynamic.Interface, *Connection) {
	t.Helper()
	kubeconfig := os.Getenv("NRD_KUBE_TEST_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("needs the API server of clients/kubernetes/test")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // as fast as it can
	connection := &Connection{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return cuttable{inner, connection} })
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return api, connection
}

type cuttable struct {
	http.RoundTripper
	connection *Connection
}

func (c cuttable) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.connection.isCut.Load() {
		return nil, errors.New("cut by the test")
	}
	return c.RoundTripper.RoundTrip(request)
}

// Create an object that goes with the test.
func Create(t *testing.T, objects dynamic.ResourceInterface, object map[string]any) *unstructured.Unstructured {
	t.Helper()
	made, err := objects.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Delete(t, objects, made.GetName()) })
	return made
}

// Delete tells whether it was there.
func Delete(t *testing.T, objects dynamic.ResourceInterface, name string) bool {
	t.Helper()
	err := objects.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	return err == nil
}

// Find is nil if there is none.
func Find(t *testing.T, objects dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
