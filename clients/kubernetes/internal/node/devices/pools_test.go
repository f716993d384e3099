package devices

import (
	"slices"
	"testing"

	"nrd.internal/kubernetes/internal/nrd"
)

func TestThePlannerChoosesAmongTheCoresOfTheDevices(t *testing.T) {
	cores := CoresOf(nrd.CPUs{Zones: []nrd.Zone{{Level: "core", CPUs: "4,12"}, {Level: "core", CPUs: "5,13"}, {Level: "core", CPUs: "6,14"}, {Level: "node", CPUs: "4-6,12-14"}}})
	for _, row := range []struct {
		threads string
		asked   nrd.CPURequest
	}{
		{"any", nrd.CPURequest{Pool: "fast", Count: 2, Among: "4-6"}},
		{"one", nrd.CPURequest{Pool: "fast", Count: 2, Among: "4-6,12-14"}},
		{"all", nrd.CPURequest{Pool: "fast", Cores: 2, Among: "4-6,12-14"}},
	} {
		asked, err := choiceOf(nrd.Pool{Name: "fast", Threads: row.threads, Kind: "exclusive"}, []string{"6", "4", "5"}, 2, cores)
		if err != nil || asked != row.asked {
			t.Errorf("%s: %+v, %v, want %+v", row.threads, asked, err, row.asked)
		}
	}
}

func TestAPreferenceHasDevicesAloneAndAllThatAreRequired(t *testing.T) {
	available := []string{"4", "5", "6"}
	if chosen := devicesOf("5-6,13-14", available, []string{"6"}); !slices.Equal(chosen, []string{"5", "6"}) {
		t.Errorf("%v, want the devices of the two cores", chosen)
	}
	if chosen := devicesOf("5-6,13-14", available, []string{"4"}); chosen != nil {
		t.Errorf("%v, want none without the required device", chosen)
	}
}

func TestAPoolOfAnotherKindIsRegisteredAnew(t *testing.T) {
	s := NewSet(nil, nil, nil, nil, "nokia.k8s.io", nil)
	shared := resourceOf(nil, s.base, nrd.Pool{Name: "fast", Kind: "shared"})
	s.plugins[shared.Name] = NewPlugin(shared, nil)
	plugin := s.plugin(t.Context(), "", resourceOf(nil, s.base, nrd.Pool{Name: "fast", Kind: "exclusive"}))
	if options, err := plugin.GetDevicePluginOptions(t.Context(), nil); err != nil || !options.GetPreferredAllocationAvailable {
		t.Errorf("%v, %v, want kubelet to ask for a preference", options, err)
	}
}
