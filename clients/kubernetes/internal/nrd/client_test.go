package nrd

import (
	"fmt"
	"net/http"
	"testing"
)

func TestARefusalIsADecisionAboutTheRequest(t *testing.T) {
	for status, isRefusal := range map[int]bool{
		http.StatusBadRequest: true, http.StatusForbidden: true, http.StatusConflict: true, http.StatusUnprocessableEntity: true,
		http.StatusInternalServerError: true, http.StatusRequestTimeout: false, http.StatusLocked: false,
		http.StatusTooManyRequests: false, http.StatusServiceUnavailable: false,
	} {
		if found := IsRefusal(fmt.Errorf("workload: %w", refusal(status, nil))); found != isRefusal {
			t.Errorf("%d: %v, want %v", status, found, isRefusal)
		}
	}
	if IsRefusal(ErrUnreachable) || IsRefusal(nil) {
		t.Error("no answer is no refusal")
	}
}
