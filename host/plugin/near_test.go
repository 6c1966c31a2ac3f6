package plugin

import "testing"

func TestTheNearestKeyIsSuggested(t *testing.T) {
	for _, test := range []struct {
		path []string
		want string
	}{
		{[]string{"descripton"}, "description"},
		{[]string{"tools"}, "tool"},
		{[]string{"Tool"}, "tool"},
		{[]string{"limit"}, "limits"},
		{[]string{"tool", "nmae"}, "name"},
		{[]string{"tool", "timeout"}, ""}, // three edits make another word
		{[]string{"request", "fs", "rooot"}, "root"},
		{[]string{"request", "http", "origin"}, "origins"},
		{[]string{"provider", "auth", "knid"}, "kind"},
		{[]string{"limits", "memory_mb"}, "memory_mib"},
		{[]string{"nowhere", "name"}, ""},
		{[]string{"x"}, ""},
		{[]string{"tool", "permission", "acton"}, ""}, // its keys are not the manifest's
		{nil, ""},
	} {
		if got := nearKey(test.path); got != test.want {
			t.Errorf("%q: %q, want %q", test.path, got, test.want)
		}
	}
}
