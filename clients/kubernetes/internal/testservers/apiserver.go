// Package testservers has the servers that nrd-kube talks to, for tests: the real API server of clients/kubernetes/test, the
// real nrd on a simulated node, and services of kubelet that a test implements. It is part of no program.
package testservers

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

// kubeconfigOf the API server. Tests that need a server are skipped without it; tests/test_go.py runs them.
func kubeconfigOf(t *testing.T) string {
	t.Helper()
	kubeconfig := os.Getenv("NRD_KUBE_TEST_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("needs the servers of clients/kubernetes/test")
	}
	return kubeconfig
}

// Connection of a client to the API server.
type Connection struct {
	interceptor atomic.Pointer[func(*http.Request) error]
}

// Intercept calls this before each request from now on, and fails those with an error.
func (c *Connection) Intercept(call func(*http.Request) error) { c.interceptor.Store(&call) }

// Cut it: requests have no answer until they time out.
func (c *Connection) Cut() {
	c.Intercept(func(request *http.Request) error {
		<-request.Context().Done()
		return errors.New("cut by the test")
	})
}

// Restore it.
func (c *Connection) Restore() { c.interceptor.Store(nil) }

type interceptable struct {
	http.RoundTripper
	connection *Connection
}

func (i interceptable) RoundTrip(request *http.Request) (*http.Response, error) {
	if call := i.connection.interceptor.Load(); call != nil {
		if err := (*call)(request); err != nil {
			return nil, err
		}
	}
	return i.RoundTripper.RoundTrip(request)
}

// Client of the API server, with all rights.
func Client(t *testing.T) (dynamic.Interface, *Connection) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigOf(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit
	connection := &Connection{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return interceptable{inner, connection} })
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return api, connection
}

// Create an object, which is deleted after the test.
func Create(t *testing.T, objects dynamic.ResourceInterface, object map[string]any) *unstructured.Unstructured {
	t.Helper()
	created, err := objects.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Delete(t, objects, created.GetName()) })
	return created
}

// Delete reports whether it was there.
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
