package certificates

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"nrd.internal/kubernetes/internal/kube"
)

const (
	interval     = time.Minute
	failurePause = 2 * time.Second
	// spread is the time in which each API server learns of a changed configuration.
	spread = 30 * time.Second
)

var configurations = admissionregistration.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")

// Own makes a certificate for the webhook and renews it. Its authority is in the caBundle of the webhook's
// configuration beside those of the other replicas, each of which serves with its own: no key leaves the memory of a
// replica, and the configuration is all that they share.
type Own struct {
	api                 dynamic.Interface
	configuration, name string
	informer            cache.SharedIndexInformer
	changed             kube.Signal
	serving             atomic.Pointer[pair]
	next                *pair     // serves once its authority is known; nil: none is due
	trusted             time.Time // since when the configuration has the authority of next; zero: not yet
}

// NewOwn serves the webhooks of a configuration; name tells this replica from the others.
func NewOwn(api dynamic.Interface, configuration, name string) *Own {
	o := &Own{api: api, configuration: configuration, name: name, changed: kube.NewSignal()}
	o.informer = kube.NewInformer(api, kube.Selection{Resource: configurations, Name: configuration})
	return o
}

// Certificate for a connection.
func (o *Own) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if serving := o.serving.Load(); serving != nil {
		return &serving.serving, nil
	}
	return nil, errors.New("no certificate yet")
}

// Ready is nil once the API server trusts the certificate.
func (o *Own) Ready() error {
	if o.serving.Load() == nil {
		return fmt.Errorf("no certificate yet: MutatingWebhookConfiguration %s does not have it", o.configuration)
	}
	return nil
}

// Run keeps the certificate and its authority in the configuration until the context ends.
func (o *Own) Run(ctx context.Context) error {
	if err := kube.Watch(ctx, o.informer, o.changed); err != nil {
		return err
	}
	pauses := kube.Pauses{Usual: interval, AfterFailure: failurePause}
	return kube.Repeat(ctx, o.changed, pauses, "cannot write the webhook's certificate authority into "+o.configuration,
		func(ctx context.Context) error { return o.step(ctx, time.Now()) })
}

// step renews the certificate, if that is due, in two: API servers know its authority before it serves.
func (o *Own) step(ctx context.Context, now time.Time) error {
	configuration, err := o.found()
	if err != nil {
		return err
	}
	hosts, err := hostsOf(configuration)
	if err != nil {
		return err
	}
	serving := o.serving.Load()
	if serving.isFor(hosts, now) {
		o.next = nil
	} else if !o.next.isFor(hosts, now) {
		if o.next, err = makePair(o.name, hosts, now); err != nil {
			return err
		}
		o.trusted = time.Time{}
	}
	ours := slices.DeleteFunc([]*pair{o.next, serving}, func(each *pair) bool { return each == nil })
	if !haveAll(configuration.Webhooks, ours) {
		if err := o.write(ctx, configuration, ours, now); err != nil {
			return err
		}
	}
	o.serve(hosts, now)
	return nil
}

// serve begins with the next certificate, at once if there is none that can serve until its authority has spread.
func (o *Own) serve(hosts []string, now time.Time) {
	if o.next == nil {
		return
	}
	if o.trusted.IsZero() {
		o.trusted = now
	}
	if o.serving.Load().canServe(hosts, now) && now.Sub(o.trusted) < spread {
		return
	}
	o.serving.Store(o.next)
	o.next = nil
	slog.Info("serving with a new certificate", "hosts", hosts, "until", now.Add(lifetime).UTC().Format(time.RFC3339))
}

// haveAll reports whether API servers trust these certificates, whichever webhook they call.
func haveAll(webhooks []admissionregistration.MutatingWebhook, pairs []*pair) bool {
	for _, each := range webhooks {
		for _, wanted := range pairs {
			if !has(each.ClientConfig.CABundle, wanted) {
				return false
			}
		}
	}
	return true
}

func (o *Own) found() (*admissionregistration.MutatingWebhookConfiguration, error) {
	found := kube.Only(o.informer)
	if found == nil {
		return nil, errors.New("there is no such MutatingWebhookConfiguration; apply deploy/")
	}
	var configuration admissionregistration.MutatingWebhookConfiguration
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &configuration)
	return &configuration, err
}

// hostsOf are the names by which the API server calls the webhooks.
func hostsOf(configuration *admissionregistration.MutatingWebhookConfiguration) ([]string, error) {
	var hosts []string
	for _, each := range configuration.Webhooks {
		switch client := each.ClientConfig; {
		case client.Service != nil:
			hosts = append(hosts, client.Service.Name+"."+client.Service.Namespace+".svc")
		case client.URL != nil:
			address, err := url.Parse(*client.URL)
			if err != nil {
				return nil, fmt.Errorf("webhook %s: %w", each.Name, err)
			}
			hosts = append(hosts, address.Hostname())
		}
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) == 0 {
		return nil, errors.New("the MutatingWebhookConfiguration has no webhook")
	}
	return hosts, nil
}

// write changes the caBundles alone, and only of the version that was read: another replica may write at the same time.
func (o *Own) write(ctx context.Context, configuration *admissionregistration.MutatingWebhookConfiguration, ours []*pair, now time.Time) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	patch := []operation{{"test", "/metadata/resourceVersion", configuration.ResourceVersion}}
	for i, each := range configuration.Webhooks {
		text := base64.StdEncoding.EncodeToString(bundle(each.ClientConfig.CABundle, o.name, now, ours...))
		patch = append(patch, operation{"add", "/webhooks/" + strconv.Itoa(i) + "/clientConfig/caBundle", text})
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = o.api.Resource(configurations).Patch(ctx, o.configuration, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: "nrd-operator"})
	return err
}
