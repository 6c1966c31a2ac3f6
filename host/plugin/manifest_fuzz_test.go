package plugin

import (
	"bytes"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// Whatever a manifest says, it is refused with its file, a line that it has and a
// reason, or it is read the same way every time.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		"", head, weather, "schema = 2", "[[tool]]\nname = 1", head + "[isolation]\nmode = \"x\"",
		head + "[[tool]]\nname = \"a\"\ndescription = \"a\"\ninput = \"input.json\"\ntimeout_ms = 1",
		head + "[[provider]]\nid = \"codec\"\nframing = \"sse\"\nauth = { kind = \"header\", name = \"A\", value = \"{secret}\" }",
		head + "[[request.http]]\norigins = [\"https://example.com\"]\nmethods = [\"GET\"]\npaths = [\"/\"]\nreason = \"r\"",
		head + "[request.kv]\nreason = \"r\"\n[limits]\nmemory_mib = 64\n[config]\nschema = '{}'",
	} {
		f.Add([]byte(text))
	}
	beside := fstest.MapFS{"input.json": {Data: []byte(`{"type":"object"}`)}}
	f.Fuzz(func(t *testing.T, text []byte) {
		manifest, err := DecodeManifest("plugin.toml", text, beside)
		if err != nil {
			refusal, ok := errors.AsType[*ManifestError](err)
			if !ok || refusal.File != "plugin.toml" || refusal.Text == "" {
				t.Fatalf("refused with %#v", err)
			}
			if lines := bytes.Count(text, []byte("\n")) + 1; refusal.Line < 0 || refusal.Line > lines {
				t.Fatalf("line %d of %d: %v", refusal.Line, lines, err)
			}
			return
		}
		again, err := DecodeManifest("plugin.toml", text, beside)
		if diff := cmp.Diff(manifest, again); diff != "" || err != nil {
			t.Fatalf("read again: %v %s", err, diff)
		}
	})
}
