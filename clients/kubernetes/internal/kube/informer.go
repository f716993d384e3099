package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// Selection of objects of one kind. An empty member selects those of all namespaces, names or labels.
type Selection struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	Labels          string // as kubectl's -l
}

// Only object of an informer that selects one by its name; nil if it is not there.
func Only(informer cache.SharedIndexInformer) *unstructured.Unstructured {
	for _, each := range informer.GetStore().List() {
		return each.(*unstructured.Unstructured)
	}
	return nil
}

// NewInformer follows them. client-go's dynamicinformer does the same, and brings all kinds of the API server into the
// program.
func NewInformer(api dynamic.Interface, of Selection) cache.SharedIndexInformer {
	objects := api.Resource(of.Resource).Namespace(of.Namespace)
	narrow := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = of.Labels
		if of.Name != "" {
			options.FieldSelector = "metadata.name=" + of.Name
		}
		return options
	}
	logged := "" // the last failure, until a watch begins
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, narrow(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watching, err := objects.Watch(ctx, narrow(options))
			if err == nil {
				logged = ""
			}
			return watching, err
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(cache.ToListWatcherWithWatchListSemantics(source, api), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: of.Resource.String()})
	// Called by the goroutine that watches, for each try. There is an error only if the informer runs already.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
		if text := err.Error(); text != logged {
			logged = text
			cache.DefaultWatchErrorHandler(ctx, reflector, err)
		}
	})
	return informer
}
