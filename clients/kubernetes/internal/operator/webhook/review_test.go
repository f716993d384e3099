package webhook

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admission/v1"

	"nrd.internal/kubernetes/internal/annotations"
	"nrd.internal/kubernetes/internal/health"
)

func ask(kind, body string) *httptest.ResponseRecorder {
	handler := NewHandler(rules, func() annotations.Pools { return pools }, &health.Metrics{})
	request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	request.Header.Set("Content-Type", kind)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// reviewOf a pod with this limit.
func reviewOf(members, limit string) string {
	return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", ` + members + `,
		"object": {"metadata": {"name": "feed"}, "spec": {"containers": [{"name": "main", "resources": {"limits": {"` + limit + `": "5"}}}]}}}}`
}

const create = `"operation": "CREATE", "resource": {"group": "", "version": "v1", "resource": "pods"}`

func TestAReviewIsAnsweredWithItsUID(t *testing.T) {
	for _, row := range []struct {
		name, members, limit string
		isAllowed, isChanged bool
		message              string
	}{
		{"changed", create, "nokia.k8s.io/shared_caas", true, true, ""},
		{"unchanged", create, "other.io/gpu", true, false, ""},
		{"denied", create, "nokia.k8s.io/gone", false, false, "/spec/containers/0/resources/limits/nokia.k8s.io~1gone: unknown pool"},
		{"an update", strings.Replace(create, "CREATE", "UPDATE", 1), "nokia.k8s.io/gone", true, false, ""},
		{"another kind", strings.Replace(create, "pods", "jobs", 1), "nokia.k8s.io/gone", true, false, ""},
		{"a part of a pod", create + `, "subResource": "eviction"`, "nokia.k8s.io/gone", true, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := ask("application/json; charset=utf-8", reviewOf(row.members, row.limit))
			var review admission.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || answer.Code != http.StatusOK || review.Response == nil {
				t.Fatalf("%d %s, %v", answer.Code, answer.Body, err)
			}
			response := review.Response
			if review.APIVersion != "admission.k8s.io/v1" || response.UID != "u-1" || response.Allowed != row.isAllowed || (response.Patch != nil) != row.isChanged {
				t.Errorf("%s", answer.Body)
			}
			if row.message != "" && !strings.HasPrefix(response.Result.Message, row.message) {
				t.Errorf("%+v, want %s", response.Result, row.message)
			}
		})
	}
}

func TestWhatIsNoReviewIsABadRequest(t *testing.T) {
	whole := reviewOf(create, "other.io/gpu")
	for _, row := range []struct{ kind, body, part string }{
		{"text/plain", whole, "application/json"},
		{"", whole, "application/json"},
		{"application/json", "", "not an AdmissionReview"},
		{"application/json", "[]", "not an AdmissionReview"},
		{"application/json", "{}", "expected an AdmissionReview"},
		{"application/json", strings.Replace(whole, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), "expected an AdmissionReview"},
		{"application/json", `{"apiVersion": "` + strings.Repeat("x", mostBody) + `"}`, "too large"},
	} {
		if answer := ask(row.kind, row.body); answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), row.part) {
			t.Errorf("%s %.60s: %d %s", row.kind, row.body, answer.Code, answer.Body)
		}
	}
}

func TestAPodThatIsNoneIsDenied(t *testing.T) {
	answer := ask("application/json", strings.Replace(reviewOf(create, "other.io/gpu"), `"5"`, `"five"`, 1))
	if !strings.Contains(answer.Body.String(), `"allowed":false`) || !strings.Contains(answer.Body.String(), "not a pod") {
		t.Errorf("%s", answer.Body)
	}
}

func TestClientsThatSendSlowlyDelayNoReview(t *testing.T) {
	server := httptest.NewServer(NewHandler(rules, func() annotations.Pools { return pools }, &health.Metrics{}))
	defer server.Close()
	for number := range 4 * mostReviews {
		slow, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		fmt.Fprintf(slow, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			Path, mostBody, strings.Repeat(" ", number%2*2*mostSmall)) // nothing, or a part of a large review
	}
	time.Sleep(300 * time.Millisecond)
	client := &http.Client{Timeout: 5 * time.Second} // timeoutSeconds of deploy/webhook.yaml
	answer, err := client.Post(server.URL+Path, "application/json", strings.NewReader(reviewOf(create, "nokia.k8s.io/shared_caas")))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
}
