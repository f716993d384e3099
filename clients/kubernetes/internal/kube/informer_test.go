package kube

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// flickering is an API server that does not have the kind in each odd hour, and ends each watch after a minute.
type flickering struct {
	dynamic.NamespaceableResourceInterface
	began time.Time
}

func (f flickering) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return f
}
func (f flickering) Namespace(string) dynamic.ResourceInterface { return f }
func (flickering) IsWatchListSemanticsUnSupported() bool        { return true }

func (f flickering) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if int(time.Since(f.began).Hours())%2 == 0 {
		return nil, errors.New("the server could not find the requested resource")
	}
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion("1")
	return list, nil
}

func (f flickering) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if _, err := f.List(ctx, options); err != nil {
		return nil, err
	}
	watching := watch.NewFake()
	time.AfterFunc(time.Minute, watching.Stop)
	return watching, nil
}

func TestTheSameFailureOfAWatchIsLoggedOnce(t *testing.T) {
	before := utilruntime.ErrorHandlers
	defer func() { utilruntime.ErrorHandlers = before }()
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) { lines++ }}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour-time.Minute)
		defer cancel()
		informer := NewInformer(flickering{began: time.Now()}, Selection{})
		informer.RunWithContext(ctx)
		if !informer.HasSynced() || lines != 3 {
			t.Errorf("%d lines, want one about the list, then one about the watch and one about the list", lines)
		}
	})
}
