package annotations

import (
	"slices"
	"strings"
	"testing"

	"nrd.internal/kubernetes/internal/nrd"
)

func TestAnAnnotationIsReadByTheContainerWithThisWholeNameOnly(t *testing.T) {
	annotations := map[string]string{"a_policy": "gold", "ab_policy": "silver", "ab_cache_min": "1", "a_pstate_ratio": "3.0",
		"a_pstate_monitoring": "on", "ab_mba_percentage": "50", "ab_mba_mbps": "1000"}
	a, err := ReadRMD("a", annotations)
	if err != nil || a.Policy != "gold" || a.CacheMin != nil || a.Ratio != 3 || a.Monitoring != "on" {
		t.Errorf("a: %+v, %v", a, err)
	}
	ab, err := ReadRMD("ab", annotations)
	if err != nil || ab.Policy != "silver" || *ab.CacheMin != 1 || ab.MBA != (nrd.MBA{Percentage: 50, Mbps: 1000}) {
		t.Errorf("ab: %+v, %v", ab, err)
	}
	if c, err := ReadRMD("b", annotations); err != nil || c != (RMD{}) {
		t.Errorf("b: %+v, %v", c, err)
	}
}

func TestAnAnnotationThatCannotBeReadIsRefusedByName(t *testing.T) {
	for _, row := range []struct{ key, text, part string }{
		{"c_cache_min", "1.5", "not a whole number"},
		{"c_cache_min", "-1", "not a whole number"},
		{"c_cache_min", "4294967296", "not a whole number"},
		{"c_pstate_ratio", "0", "not a positive number"},
		{"c_pstate_ratio", "NaN", "not a positive number"},
		{"c_pstate_ratio", "Inf", "not a positive number"},
		{"c_pstate_ratio", "0x1p3", "not a positive number"},
		{"c_pstate_ratio", "3e0", "not a positive number"},
		{"c_pstate_ratio", "1_0.0", "not a positive number"},
		{"c_pstate_ratio", "1000000", "not a positive number"},
		{"c_pstate_monitoring", "yes", "neither on nor off"},
		{"c_policy", strings.Repeat("x", 65), "longer than 64"},
	} {
		_, err := ReadRMD("c", map[string]string{row.key: row.text})
		if err == nil || !strings.Contains(err.Error(), row.part) || !strings.Contains(err.Error(), row.key) {
			t.Errorf("%s=%s: %v, want %q", row.key, row.text, err, row.part)
		}
	}
}

func TestOfSeveralMistakesTheSameIsToldEachTime(t *testing.T) {
	for range 20 {
		_, err := ReadRMD("c", map[string]string{"c_mba_mbps": "x", "c_mba_percentage": "x", "c_pstate_ratio": "x", "c_cache_min": "x"})
		if err == nil || !strings.Contains(err.Error(), "c_cache_min") {
			t.Fatalf("%v, want the first one", err)
		}
	}
}

func TestAnnotationsWithoutEffectAreNamed(t *testing.T) {
	all := map[string]string{"a_policy": "gold", "a_cache_min": "1", "ab_policy": "silver"}
	const nothing, noWays = " has no effect: the container requests neither cache ways nor Onload nor CPUs of a pool", " has no effect: the container requests no cache ways"
	for _, row := range []struct {
		container           string
		hasDevices, hasWays bool
		ignored             []string
	}{
		{"a", false, false, []string{"annotation a_policy" + nothing, "annotation a_cache_min" + nothing}},
		{"a", true, false, []string{"annotation a_cache_min" + noWays}},
		{"a", true, true, nil},
		{"b", false, false, nil},
	} {
		if ignored := Ignored(row.container, all, row.hasDevices, row.hasWays); !slices.Equal(ignored, row.ignored) {
			t.Errorf("%+v: %q", row, ignored)
		}
	}
}

func FuzzReadRMD(f *testing.F) {
	f.Add("1.5")
	f.Add("on")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, suffix := range []string{"_policy", "_cache_min", "_pstate_ratio", "_pstate_monitoring", "_mba_percentage", "_mba_mbps"} {
			_, _ = ReadRMD("c", map[string]string{"c" + suffix: text})
		}
	})
}
