package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

// permissive rules allow everything.
type permissive struct{}

func (permissive) Effects(_ context.Context, _ session.Asker, _, _ string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range effects {
		effects[i] = session.Allow
	}
	return effects, nil
}

const (
	sessionKey     = "conformance/guest/session"
	unavailableKey = "conformance/guest/unavailable"
	absentKey      = "conformance/guest/absent"
)

func TestSources(t *testing.T) {
	tests := []struct {
		session  string
		previous map[string]json.RawMessage
		told     string // the previous value as the guest has it
		update   string
	}{
		{"ses_1", nil, "null", ""},
		{"ünï 🙂", map[string]json.RawMessage{"conformance/guest/other": []byte("1")}, "null", ""},
		{"ses_2", map[string]json.RawMessage{sessionKey: []byte(`{"a":[1e400,"x"]}`)}, `{"a":[1e400,"x"]}`, "The session is now ses_2."},
	}
	each(t, func(t *testing.T, g guest) {
		sources := bridge.NewContext(toolsOf(t, g).Plugin, []string{sessionKey, unavailableKey, absentKey}, session.SourceSpec{}, nothing())
		for _, test := range tests {
			states, err := sources.Observe(t.Context(), session.Observation{
				Session: test.session, Agent: "build", Now: clock{}.Now(), Previous: test.previous,
				Location: session.Location{Directory: "/a/b", Root: "/a"}, Directories: []string{"/a/ü", "/a/x/y"},
			})
			if err != nil || len(states) != 3 {
				t.Fatalf("%v, %v", states, err)
			}
			sameJSON(t, "value", states[0].Value, fmt.Appendf(nil, `{"session":{"id":%q,"agent":"build"},"now_ms":1795163400000,"previous":%s,
				"location":{"directory":"/a/b","root":"/a","git":false,"platform":%q,"utc_offset":60}}`, test.session, test.told, runtime.GOOS))
			states[0].Value = nil
			want := []session.SourceState{
				{Key: sessionKey, State: "value", Baseline: "The session is " + test.session + ".", Update: test.update, Removed: "The session is unknown."},
				{Key: unavailableKey, State: "unavailable"},
				{Key: absentKey, State: "absent"},
			}
			if diff := cmp.Diff(want, states); diff != "" {
				t.Errorf("%s: %s", test.session, diff)
			}
		}
		_, err := sources.Observe(t.Context(), session.Observation{Session: "fail", Now: clock{}.Now()})
		if told, ok := errors.AsType[*abi.Error](err); !ok || told.Kind != abi.KindUnavailable || told.Message != "nothing can be seen" {
			t.Errorf("it fails with %v", err)
		}
	})
}
