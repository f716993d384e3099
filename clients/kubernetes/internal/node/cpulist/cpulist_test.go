package cpulist

import "testing"

func TestParseAndFormatAreInverse(t *testing.T) {
	for _, row := range []struct{ text, ranges, plain string }{
		{"", "", ""},
		{"4", "4", "4"},
		{"0-3,8", "0-3,8", "0,1,2,3,8"},
		{"8,0-3, 2", "0-3,8", "0,1,2,3,8"},
		{"5,4", "4-5", "4,5"},
	} {
		cpus, err := Parse(row.text)
		if err != nil {
			t.Fatalf("%q: %v", row.text, err)
		}
		if got := Format(cpus); got != row.ranges {
			t.Errorf("Format(%q) = %q, want %q", row.text, got, row.ranges)
		}
		if got := Plain(cpus); got != row.plain {
			t.Errorf("Plain(%q) = %q, want %q", row.text, got, row.plain)
		}
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, text := range []string{"a", "3-1", "-1", "1-", "0-4000000000", "1.5", "+1", "0x3"} {
		if cpus, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, cpus)
		}
	}
}

func TestTheIntersectionHasTheCPUsOfBoth(t *testing.T) {
	for _, row := range []struct{ one, other, both string }{
		{"0-7", "2,4-11", "2,4-7"}, {"0-3", "4-7", ""}, {"", "0", ""}, {"1", "0-3", "1"},
	} {
		if both, err := Intersection(row.one, row.other); err != nil || both != row.both {
			t.Errorf("%s and %s: %s, %v, want %s", row.one, row.other, both, err, row.both)
		}
	}
	if _, err := Intersection("0", "x"); err == nil {
		t.Error("no list: want an error")
	}
}
