package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/warm"
)

// asked keeps the requests that a model gets.
type asked struct {
	mu  sync.Mutex
	all []session.ModelRequest
}

func (a *asked) stream(_ context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
	a.mu.Lock()
	a.all = append(a.all, request)
	a.mu.Unlock()
	for _, event := range []session.ModelEvent{{Type: session.EventTextDelta, ID: "t", Text: "Yes."}, {Type: session.EventFinish, Reason: session.FinishStop}} {
		if !yield(event, nil) {
			return
		}
	}
}

// request is what the model is asked for a prompt of a new session.
func (a *asked) request(r *rig, text string) session.ModelRequest {
	r.t.Helper()
	if result := r.settled(r.session(), text); result.Outcome != protocol.OutcomeCompleted {
		r.t.Fatalf("%+v", result)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[len(a.all)-1]
}

func toolsOf(request session.ModelRequest) (names []string) {
	for _, tool := range request.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// The builtins that edit requests do nothing until somebody switches them on, and what
// they say then.
func TestBuiltinTransformsAreSwitchedOn(t *testing.T) {
	r := newRig(t)
	var model asked
	r.provide(model.stream)
	states := func() map[string]protocol.PluginState {
		list, err := r.client().Plugins(r.within())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]protocol.PluginState{}
		for _, one := range list.Plugins {
			all[one.ID] = one.State
		}
		return all
	}
	var off []string
	for _, one := range builtin.All() {
		if one.Off {
			off = append(off, one.ID)
		}
	}
	if want := []string{"core/cache-marks", "core/house-rules", "core/redact", "core/tool-subset"}; !slices.Equal(off, want) {
		t.Errorf("off are %v, want %v", off, want)
	}
	known := states()
	for _, id := range off {
		if state, there := known[id]; there {
			t.Errorf("%s is %q before it ever served", id, state)
		}
	}
	secret := "ghp_" + strings.Repeat("aZ0b", 9)
	text := "The token is " + secret + ", the person EMP-123456."
	plain := model.request(r, text)
	if got := sentText(plain); got != text || plain.Options != nil || !slices.Contains(toolsOf(plain), "read") || strings.Contains(systemOf(plain), "house") {
		t.Errorf("with the transforms off: %+v", plain)
	}

	r.configure(`
[plugins."core/house-rules"]
enabled = true
config = { rules = ["Never push to main."] }
[plugins."core/redact"]
enabled = true
config = { patterns = [{ kind = "employee", pattern = "EMP-[0-9]{6}" }] }
[plugins."core/tool-subset"]
enabled = true
config = { agents = { build = { without = ["read"] } } }
[plugins."core/cache-marks"]
enabled = true
config = { policy = { tools = true, messages = { tail = 2 }, ttl_seconds = 3600 } }
`)
	r.restart()
	r.provide(model.stream)
	known = states()
	for _, id := range off {
		if known[id] != protocol.PluginActive {
			t.Errorf("%s is %q", id, known[id])
		}
	}
	edited := model.request(r, text)
	if got, want := sentText(edited), "The token is [redacted: github-token], the person [redacted: employee]."; got != want {
		t.Errorf("sent %q", got)
	}
	if got := systemOf(edited); !strings.HasSuffix(got, "\n\nRules of this house, which hold for all work here:\n- Never push to main.") {
		t.Errorf("the system text is %q", got)
	}
	if slices.Contains(toolsOf(edited), "read") || len(edited.Tools) != len(plain.Tools)-1 {
		t.Errorf("tools %v of %v", toolsOf(edited), toolsOf(plain))
	}
	var policy map[string]any
	if err := json.Unmarshal(edited.Options["cache"], &policy); err != nil || policy["ttl_seconds"] != 3600.0 || policy["tools"] != true {
		t.Errorf("options %v, %v", edited.Options, err)
	}
}

func sentText(request session.ModelRequest) string {
	return request.Messages[0].Parts[0].Text
}

func systemOf(request session.ModelRequest) (text string) {
	for _, part := range request.System {
		text += part.Text
	}
	return text
}

// Settings that mean nothing keep the host from starting, and say so.
func TestBadSettingsOfATransformAreRefused(t *testing.T) {
	r := newRig(t)
	good := r.app.config
	elsewhere := filepath.Join(filepath.Dir(r.data), "other")
	if err := warm.Share(filepath.Join(elsewhere, "cache"), compiled); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ id, config, want string }{
		{"core/cache-marks", `{"policy":{"messages":{"tail":9}}}`, "/policy/messages/tail: maximum: got 9, want 4"},
		{"core/house-rules", `{"rules":[" "]}`, "rules[0] is empty"},
		{"core/redct", `{}`, `plugins."core/redct": there is no such builtin; choose one of core/anthropic, `},
	} {
		enabled := true
		bad := good
		bad.Data = elsewhere
		bad.Plugins.Settings = map[string]config.Plugin{c.id: {Enabled: &enabled, Config: json.RawMessage(c.config)}}
		other := &app{config: bad, directory: r.project, logger: hclog.NewNullLogger(), fatal: func(err error) { t.Error(err) }}
		err := other.start(r.within())
		if err == nil || !strings.Contains(err.Error(), c.id) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.id, err, c.want)
		}
		if err := other.close(); err != nil {
			t.Error(err)
		}
	}
}

// The model is told which one it is, and when another one goes on.
func TestTheModelIsToldWhichItIs(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "hello")
	if got := r.baseline(id); !strings.Contains(got, "You run on the model offline/rules.") {
		t.Errorf("%q", got)
	}
	r.configure("[providers.second]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[runner]\nretry_attempts = 0\n")
	r.restart()
	if _, err := r.command("sessions", "switch", id, "--model", "second/m"); err != nil {
		t.Fatal(err)
	}
	r.settled(id, "And now?")
	told := r.await(id, -1, func(p session.Payload) bool { _, ok := p.(session.ContextUpdated); return ok })
	if got := r.decode(told).(session.ContextUpdated).Text; got != "You now run on the model second/m. Earlier answers may be another one's." {
		t.Errorf("after a switch: %q", got)
	}
}
