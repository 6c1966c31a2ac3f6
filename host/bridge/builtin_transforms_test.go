package bridge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
)

// loadTransform loads a committed transform with settings.
func loadTransform(t testing.TB, id, config string, spec session.TransformSpec) *Transform {
	t.Helper()
	for _, one := range builtin.All() {
		if one.ID != id {
			continue
		}
		init, err := Init("acme/test", json.RawMessage(config))
		if err != nil {
			t.Fatal(err)
		}
		plugin, _ := load(t, wasm.Spec{Wasm: one.Wasm, Entries: []string{abi.ExportTransform}, Init: init, Builtin: true, Pure: true, Limits: wasm.Limits{MemoryMiB: 128}})
		return NewTransform(plugin, spec)
	}
	t.Fatalf("there is no builtin %s", id)
	return nil
}

// prose is about as many bytes of what a session's history has in it.
func prose(bytes int) string {
	line := "func (s *search) redact(text string) (redacted string, found bool) { // sees https://example.org/a?b=c, \"quoted\"\n"
	return strings.Repeat(line, bytes/len(line)+1)[:bytes]
}

// history is a session's of a number of bytes, in results of 50,000 with a key in each.
func history(bytes int) (messages []session.ModelMessage, secrets int) {
	key := "ghp_" + strings.Repeat("aZ0b", 9)
	for left := bytes; left > 0; left -= 50_000 {
		id := fmt.Sprintf("msg_%d", secrets)
		messages = append(messages, session.ModelMessage{ID: id, Role: session.RoleTool, Parts: []session.ModelPart{
			{ID: id + "/result", Type: session.PartToolResult, Call: id, Text: prose(min(left, 50_000)-50) + " " + key + " EMP-123456"}}})
		secrets++
	}
	return messages, secrets
}

// A megabyte of history is searched within the time of a transform, with own patterns.
func TestSecretsOfALongHistoryAreRedactedInTime(t *testing.T) {
	transform := loadTransform(t, "core/redact", `{"patterns":[{"kind":"employee","pattern":"EMP-[0-9]{6}"},{"kind":"quoted","pattern":"\"quote[a-z]+ \""}]}`,
		session.TransformSpec{Name: "redact", Reads: []session.RequestPart{session.RequestMessages}, Timeout: 500 * time.Millisecond})
	messages, secrets := history(1 << 20)
	edits, err := transform.Apply(t.Context(), session.TransformInput{Purpose: session.PurposeTurn, Messages: messages})
	if err != nil || len(edits) != secrets {
		t.Fatalf("%d edits of %d: %v", len(edits), secrets, err)
	}
	for _, edit := range edits {
		var text string
		if err := json.Unmarshal(edit.Value, &text); err != nil || !strings.HasSuffix(text, " [redacted: github-token] [redacted: employee]") {
			t.Errorf("%s: %.200q, %v", edit.ID, text[max(0, len(text)-100):], err)
		}
	}
}

func BenchmarkRedact1MB(b *testing.B) {
	transform := loadTransform(b, "core/redact", `{"patterns":[{"kind":"employee","pattern":"EMP-[0-9]{6}"}]}`,
		session.TransformSpec{Name: "redact", Reads: []session.RequestPart{session.RequestMessages}, Timeout: 500 * time.Millisecond})
	messages, _ := history(1 << 20)
	for b.Loop() {
		if _, err := transform.Apply(b.Context(), session.TransformInput{Purpose: session.PurposeTurn, Messages: messages}); err != nil {
			b.Fatal(err)
		}
	}
}
