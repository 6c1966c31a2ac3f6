package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// TestProvidersThatFail: what a provider does wrong is a failure of the activity with
// a code, told by every door, and the session goes on with the next prompt.
func TestProvidersThatFail(t *testing.T) {
	t.Parallel()
	d := badWorld(t)
	for _, c := range []struct {
		name, model, prompt string
		code                string
		status              int
		says                []string
	}{
		{"bad key", "local/test", "status 401", "authentication", 401, []string{"401"}},
		{"rate limit", "local/test", "status 429", "rate_limit", 429, []string{"429"}},
		{"server error", "local/test", "status 500", "internal", 500, []string{"500"}},
		{"cut stream", "local/test", "cut", "transport", 0, nil},
		{"refused connection", "refusing/x", "x", "transport", 0, []string{"refused"}},
		{"plugin without its exports", "hollow/x", "x", "model_unavailable", 0, []string{"the provider hollow needs the plugin acme/hollow", "was refused", "provider_encode"}},
		{"plugin that is not there", "lacking/x", "x", "model_unavailable", 0, []string{"the provider lacking needs the plugin acme/lacking", "plugins.folders"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := *d
			w := *d.world
			w.t, d.world = t, &w
			id := d.host.session(d.world)
			provider, model, _ := strings.Cut(c.model, "/")
			body := `"text":"` + c.prompt + `","model":{"provider":"` + provider + `","model":"` + model + `"}`
			check := func(door string, failed bool, code string, status int, message string) {
				t.Helper()
				if !failed || code != c.code || status != c.status {
					t.Errorf("%s: failed %v with %s, status %d; want %s, %d", door, failed, code, status, c.code, c.status)
				}
				for _, want := range c.says {
					if !strings.Contains(message, want) {
						t.Errorf("%s: %q does not say %q", door, message, want)
					}
				}
				if message == "" {
					t.Errorf("%s says nothing", door)
				}
			}
			result := d.httpResult(id, "{"+body+"}")
			if result.Error == nil {
				t.Fatalf("HTTP: %+v", result)
			}
			check("HTTP", result.Outcome == protocol.OutcomeFailed, result.Error.Code, result.Error.Status, result.Error.Message)
			ended, _ := d.wsEnded(id, `{"sessionID":"`+id+`",`+body+`}`)
			if ended.Error == nil {
				t.Fatalf("WebSocket: %+v", ended)
			}
			check("WebSocket", ended.Outcome == session.Failed, ended.Error.Code, ended.Error.Status, ended.Error.Message)
			_, notes, code := d.plinth("run", "--session", id, "--model", c.model, c.prompt)
			if code != 3 || !strings.Contains(notes, "("+c.code+", session "+id+")") {
				t.Errorf("the terminal ended with %d: %s", code, notes)
			}
			check("terminal", true, c.code, c.status, notes)
			d.usable(id)
		})
	}
}

// TestPluginsThatAreRefused: a plugin that cannot be used is listed at every door
// with the file, the field and the fix, and the host serves without it.
func TestPluginsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := badWorld(t)
	for _, c := range []struct {
		name string
		says []string
	}{
		{"unreadable manifest", []string{"/plugins/odd/plugin.toml:3: versoin: there is no such key; did you mean version?"}},
		{"module without its exports", []string{"acme/hollow", "/plugins/hollow", "provider_encode"}},
		{"module without any export", []string{"acme/void", "/plugins/void", "it must export the marker function plinth_abi_1; build it with a current SDK"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			listed := func(door, text string) {
				t.Helper()
				for _, want := range append(c.says, "failed") {
					if !strings.Contains(text, want) {
						t.Errorf("%s does not say %q:\n%s", door, want, text)
					}
				}
			}
			_, _, body := d.http(call{method: http.MethodGet, path: "/v1/plugins"})
			listed("HTTP", string(body))
			f, _ := d.dial(nil)
			f.send(`{"t":"req","id":"r","method":"plugins.list"}`)
			listed("WebSocket", string(expect[*protocol.Res](f).Result))
			out, _, code := d.plinth("plugins")
			listed("terminal", out)
			if code != 0 {
				t.Errorf("exit %d", code)
			}
			listed("the log", strings.ReplaceAll(d.host.notes.String(), "plugin refused", "failed"))
		})
	}
	d.usable(d.host.session(d.world))
}
