package probation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	type step struct {
		Wait       time.Duration
		Quarantine bool
	}
	for _, test := range []struct {
		name    string
		backoff Backoff
		want    []step
	}{
		{"default", Backoff{}, []step{{}, {Wait: time.Second}, {Wait: 2 * time.Second}, {Wait: 4 * time.Second}, {Wait: 8 * time.Second}, {Quarantine: true}, {Quarantine: true}}},
		{"capped", Backoff{First: 2 * time.Minute}, []step{{}, {Wait: 2 * time.Minute}, {Wait: 4 * time.Minute}, {Wait: 5 * time.Minute}, {Wait: 5 * time.Minute}, {Quarantine: true}}},
		{"first beyond the cap", Backoff{First: time.Hour, Most: time.Minute, Attempts: 3}, []step{{}, {Wait: time.Minute}, {Wait: time.Minute}, {Quarantine: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []step
			for failures := range test.want {
				var s step
				s.Wait, s.Quarantine = test.backoff.After(failures)
				got = append(got, s)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBackoffGrows holds whatever the settings: waits never shrink, never pass the
// cap, never overflow, and end in quarantine.
func TestBackoffGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			First:    time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "first")),
			Most:     time.Duration(rapid.Int64Range(1, 1<<62).Draw(t, "most")),
			Attempts: rapid.IntRange(1, 200).Draw(t, "attempts"),
		}
		before := time.Duration(0)
		for failures := 1; failures < b.Attempts; failures++ {
			wait, quarantine := b.After(failures)
			if quarantine || wait < before || wait > b.Most || wait <= 0 {
				t.Fatalf("after %d failures: %v, %v; before %v", failures, wait, quarantine, before)
			}
			before = wait
		}
		if _, quarantine := b.After(b.Attempts); !quarantine {
			t.Fatal("no quarantine")
		}
	})
}
