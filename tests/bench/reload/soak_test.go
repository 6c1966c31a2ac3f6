package main

import "testing"

// A plugin is replaced under load. The memory is for make soak-reload: it needs more
// reloads to come to rest.
func TestSoak(t *testing.T) {
	o, err := soak(t.Context(), t.TempDir(), 60, 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(60); err != nil {
		t.Error(err)
	}
	if o.tally.calls < sessions*calls {
		t.Errorf("%d calls are no load", o.tally.calls)
	}
}

// What a reload leaves is found: 3,000 bytes in Go's heap, 3,500 anywhere, a goroutine or a
// descriptor of every hundredth.
func TestLeaked(t *testing.T) {
	before := usage{resident: 56 << 20, heap: 17 << 17, goroutines: 9, descriptors: 35}
	const reloads = soakReloads - warmReloads
	tests := []struct {
		name  string
		after usage
		want  string
	}{
		{"nothing", before, ""},
		{"notes", usage{heap: before.heap + 200*reloads, goroutines: 9 + slack, descriptors: 35 + slack}, ""},
		{"heap", usage{heap: before.heap + 3000*reloads, goroutines: 9, descriptors: 35}, "4928224 bytes in Go's heap after 900 reloads, and 2228224 before; the most is 1183744 more"},
		{"goroutines", usage{goroutines: 9 + reloads/100}, "18 goroutines after 900 reloads, and 9 before; the most is 8 more"},
		{"descriptors", usage{descriptors: 35 + reloads/100}, "44 descriptors after 900 reloads, and 35 before; the most is 8 more"},
	}
	for _, test := range tests {
		if err := leaked(before, test.after, reloads); (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
	after := usage{resident: before.resident + 3500*reloads}
	if drift := growth(before, after); drift <= mostDrift {
		t.Errorf("3,500 bytes of each reload are a drift of %.2f %%", drift)
	}
}
