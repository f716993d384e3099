// Package webhook changes pods that request CPUs of pools with CPU Pooler's annotation or resources, and refuses those
// that request what cannot be, before anything of them is stored.
package webhook

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"

	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/health"
)

const (
	// Path of the webhook.
	Path = "/mutating-pods"
	// mostBody of a review; the API server accepts objects of 3 MiB.
	mostBody = 8 << 20
	// mostReviews of more than mostSmall at a time; more wait. Smaller ones never do: each pod of the cluster can connect, and
	// send slowly.
	mostReviews = 8
	mostSmall   = 32 << 10
)

// Handler answers reviews of the API server.
type Handler struct {
	rules   Rules
	pools   func() annotations.Pools
	turns   chan struct{}
	reviews *health.Counter
}

// NewHandler asks pools for those of all nodes at each review.
func NewHandler(rules Rules, pools func() annotations.Pools, metrics *health.Metrics) *Handler {
	return &Handler{rules: rules, pools: pools, turns: make(chan struct{}, mostReviews),
		reviews: metrics.Counter("nrd_kube_webhook_reviews_total", "Reviews of pods by result.", "result",
			"changed", "unchanged", "denied", "invalid")}
}

// ServeHTTP answers one review.
func (h *Handler) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body := bufio.NewReaderSize(http.MaxBytesReader(answer, request.Body, mostBody), mostSmall)
	if _, err := body.Peek(mostSmall); err == nil {
		select {
		case h.turns <- struct{}{}:
			defer func() { <-h.turns }()
		case <-request.Context().Done():
			return
		}
	}
	asked, err := readReview(body, request.Header)
	if err != nil {
		h.reviews.Add("invalid")
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	response := h.review(asked)
	response.UID = asked.UID
	answer.Header().Set("Content-Type", "application/json")
	review := admission.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Response: response}
	if err := json.NewEncoder(answer).Encode(review); err != nil {
		slog.Warn("cannot answer a review; the API server refuses the pod", "reason", err)
	}
}

func readReview(body io.Reader, header http.Header) (*admission.AdmissionRequest, error) {
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errors.New("expected a body of type application/json")
	}
	var review admission.AdmissionReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, fmt.Errorf("not an AdmissionReview: %w", err)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Request == nil {
		return nil, errors.New("expected an AdmissionReview of admission.k8s.io/v1 with a request")
	}
	return review.Request, nil
}

func (h *Handler) review(asked *admission.AdmissionRequest) *admission.AdmissionResponse {
	if asked.Resource != (metav1.GroupVersionResource{Version: "v1", Resource: "pods"}) || asked.SubResource != "" || asked.Operation != admission.Create {
		h.reviews.Add("unchanged")
		return &admission.AdmissionResponse{Allowed: true}
	}
	var pod corev1.Pod
	if err := json.Unmarshal(asked.Object.Raw, &pod); err != nil {
		return h.deny(asked, &pod, fmt.Errorf("not a pod: %w", err))
	}
	patch, err := h.rules.Mutate(&pod, h.pools())
	if err != nil {
		return h.deny(asked, &pod, err)
	}
	warnings := h.rules.Warnings(&pod)
	if len(patch) == 0 {
		h.reviews.Add("unchanged")
		return &admission.AdmissionResponse{Allowed: true, Warnings: warnings}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return h.deny(asked, &pod, err)
	}
	h.reviews.Add("changed")
	kind := admission.PatchTypeJSONPatch
	return &admission.AdmissionResponse{Allowed: true, Patch: text, PatchType: &kind, Warnings: warnings}
}

func (h *Handler) deny(asked *admission.AdmissionRequest, pod *corev1.Pod, err error) *admission.AdmissionResponse {
	h.reviews.Add("denied")
	slog.Info("pod denied", "namespace", asked.Namespace, "pod", pod.Name+pod.GenerateName, "reason", err)
	return &admission.AdmissionResponse{Result: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: err.Error()}}
}
