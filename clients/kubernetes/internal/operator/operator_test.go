package operator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"nrd.internal/kubernetes/internal/operator/webhook"
)

// always is a certificate that never changes.
type always struct {
	certificate
	serving *tls.Certificate
}

func (a always) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.serving, nil }

func TestReviewsAreAnsweredUntilNoneAreSentAnyMore(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil)
	serving := example.TLS.Certificates[0]
	example.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := func(context.Context) error { return nil }
	answer := http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(http.StatusNoContent) })
	go func() { ended <- serve(ctx, address, always{serving: &serving}, ready, answer) }()
	// ask on a new connection.
	ask := func() error {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		answer, err := client.Post("https://"+address+webhook.Path, "application/json", bytes.NewReader(nil))
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err = ask(); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	cancel()
	time.Sleep(leave / 2)
	if err := ask(); err != nil {
		t.Errorf("as the pod ends: %v, want an answer", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(leave + drain):
		t.Error("it does not end")
	}
}
