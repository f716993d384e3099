package devices

import (
	"strconv"
	"strings"
	"testing"
)

func TestOfThousandsOfAnnotationsOfAPodAFewAreTold(t *testing.T) {
	pod := map[string]string{"other": ""}
	for i := range 5000 {
		pod[AnnotationPrefix+strconv.Itoa(10000+i)] = ""
	}
	told := Ignored(pod)
	if len(told) != mostIgnored || !strings.HasPrefix(told[0], "annotation "+AnnotationPrefix+"10000 ") {
		t.Errorf("%d reported, first %q", len(told), told[0])
	}
}
