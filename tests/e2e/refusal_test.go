package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/tests/chat"
)

// badWorld is a host with a model that fails on request, a provider that refuses
// connections, and a folder of plugins that cannot be used.
func badWorld(t *testing.T) *doors {
	w := newWorld(t)
	server := w.chat(func(request chat.Request) chat.Turn {
		turn := chat.Turn{Text: "fine", Deltas: 4}
		var status int
		switch asked := request.LastUser(); {
		case asked == "cut":
			turn.Fault = chat.Fault{Cut: true, CutAfter: 2}
		case strings.HasPrefix(asked, "status "):
			if _, err := fmt.Sscan(strings.TrimPrefix(asked, "status "), &status); err == nil {
				turn.Fault = chat.Fault{Status: status}
			}
		}
		return turn
	})
	plugins := w.folder + "/plugins"
	w.write("plugins/odd/plugin.toml", "schema = 1\nid = \"acme/odd\"\nversoin = \"1\"\n")
	manifest := "schema = 1\nid = \"acme/%[1]s\"\nversion = \"0.1.0\"\ndescription = \"Claims a provider\"\n[[provider]]\nid = \"%[1]s\"\nframing = \"sse\"\n"
	w.write("plugins/void/plugin.toml", fmt.Sprintf(manifest, "void"))
	w.write("plugins/void/void.wasm", "\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x07\x0a\x01\x06memory\x02\x00") // a memory and nothing else
	files, err := os.ReadFile("../../plugins/builtin/dist/files.wasm")                                             // has a tool and no provider
	if err != nil {
		t.Fatal(err)
	}
	w.write("plugins/hollow/plugin.toml", fmt.Sprintf(manifest, "hollow"))
	w.write("plugins/hollow/hollow.wasm", string(files))
	w.write("config/plinth/config.toml", fmt.Sprintf(`model = "local/test"
[plugins]
folders = [%q]
[runner]
retry_attempts = 0
[providers.local]
plugin = "core/openai"
base_url = %q
[providers.refusing]
plugin = "core/openai"
base_url = "http://127.0.0.1:1/v1"
[providers.hollow]
plugin = "acme/hollow"
base_url = "http://127.0.0.1:1/v1"
[providers.lacking]
plugin = "acme/lacking"
base_url = "http://127.0.0.1:1/v1"
`, plugins, server.URL))
	d := &doors{world: w, host: w.serve(), model: "local/test"}
	d.token = d.host.token(w, protocol.ScopeRead, protocol.ScopeWrite)
	return d
}

// TestBadInput: every mistake gives a clear and typed error at every door, the same
// one, and leaves the session usable through all of them.
func TestBadInput(t *testing.T) {
	t.Parallel()
	d := badWorld(t)
	id := d.host.session(d.world)
	for name, body := range map[string]string{"id": `{"id":"` + message + `","text":"good"}`, "key": `{"text":"good"}`} {
		c := call{path: "/v1/sessions/" + id + "/prompts?wait=settled", body: body}
		if name == "key" {
			c.header = map[string]string{"Idempotency-Key": "k"}
		}
		if status, _, answer := d.http(c); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	for _, bad := range badInputs() {
		t.Run(bad.name, func(t *testing.T) {
			d := *d
			w := *d.world
			w.t, d.world = t, &w
			if bad.http != nil {
				d.wants(bad, "HTTP", bad.http(&d, id))
			}
			if bad.ws != nil {
				d.wants(bad, "WebSocket", bad.ws(&d, id))
			}
			if bad.terminal != nil {
				notes, exit := bad.terminal(&d, id)
				if !strings.HasPrefix(lastLine(notes), "plinth: ") || exit != bad.exit {
					t.Errorf("the terminal ended with %d, want %d: %s", exit, bad.exit, notes)
				}
				d.wants(bad, "terminal", refusal{bad.code, notes})
			}
		})
	}
	d.usable(id)
}

func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}

func (d *doors) wants(bad badInput, door string, got refusal) {
	d.t.Helper()
	if got.code != bad.code {
		d.t.Errorf("%s: %s, want %s", door, got.code, bad.code)
	}
	for _, want := range bad.says {
		if !strings.Contains(got.message, want) {
			d.t.Errorf("%s: %q does not say %q", door, got.message, want)
		}
	}
	if len(got.message) > 1000 {
		d.t.Errorf("%s: %d bytes of message", door, len(got.message))
	}
}
