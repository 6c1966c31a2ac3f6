package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

// place is a folder of a session with files for the operations.
func place(t *testing.T) (session.Location, *bridge.Reach) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"bytes.bin": everyByte(4), "large.bin": everyByte(1 << 12), "ünï 🙂.txt": "text", "secret.txt": "no", "empty.txt": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	location := session.Location{Directory: folder, Root: folder}
	return location, &bridge.Reach{Services: services(), Grants: bridge.Grants{Roots: map[string]bridge.Access{bridge.RootLocation: bridge.AccessRead}}}
}

// everyByte is all 256 bytes, so many times.
func everyByte(times int) string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return strings.Repeat(string(all), times)
}

// guarded denies the secret, asks about what is large, and allows the rest.
func guarded() []session.Rule {
	return append(everything(),
		session.Rule{Action: "read", Resource: "secret.txt", Effect: session.Deny},
		session.Rule{Action: "read", Resource: "large.bin", Effect: session.Ask})
}

func TestRawBytesOfAnOperation(t *testing.T) {
	location, files := place(t)
	whole, large := everyByte(4), everyByte(1<<12)
	tests := []struct {
		input   string
		path    string
		size    int
		data    string
		eof     bool
		kind    abi.Kind
		message string
	}{
		{input: `{"path":"bytes.bin"}`, path: "bytes.bin", size: 1024, data: whole, eof: true},
		{input: `{"path":"bytes.bin","offset":255,"length":3}`, path: "bytes.bin", size: 1024, data: whole[255:258]},
		{input: `{"path":"bytes.bin","offset":2000}`, path: "bytes.bin", size: 1024, eof: true},
		{input: `{"path":"large.bin","length":1048576}`, path: "large.bin", size: 1 << 20, data: large, eof: true},
		{input: `{"path":"empty.txt"}`, path: "empty.txt", eof: true},
		{input: `{"path":"\u00fcn\u00ef \ud83d\ude42.txt"}`, path: "ünï 🙂.txt", size: 4, data: "text", eof: true},
		{input: `{"path":"secret.txt"}`, kind: abi.KindDenied},
		{input: `{"path":"nothing.txt"}`, kind: abi.KindNotFound},
		{input: `{"root":"config","path":"a"}`, kind: abi.KindDenied,
			message: `this plugin has no grant for the root "config"; its manifest must ask for it with [[request.fs]]`},
		{input: `{"path":"bytes.bin","length":1048577}`, kind: abi.KindLimit, message: "length is 1048577, one fs.read answers at most 1048576 bytes"},
		{input: `{"path":"bytes.bin","offset":-1}`, kind: abi.KindInvalidInput, message: "offset and length must not be negative"},
	}
	each(t, func(t *testing.T, g guest) {
		tool := toolsOf(t, g).tool(t, "read", files)
		for _, test := range tests {
			host := &toolHost{rules: guarded(), person: func(context.Context) error { return nil }}
			output, err := tool.Execute(t.Context(), session.ToolCall{Input: []byte(test.input), Location: location, Host: host})
			if test.kind != "" {
				told, ok := err.(*session.ToolError)
				if !ok || told.Kind != string(test.kind) || test.message != "" && told.Message != test.message {
					t.Errorf("%s: %v; want %s: %s", test.input, err, test.kind, test.message)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", test.input, err)
				continue
			}
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(test.data))
			sameJSON(t, test.input, output.Structured, fmt.Appendf(nil, `{"path":%q,"size":%d,"eof":%t,"bytes":%d,"hash":%d}`,
				test.path, test.size, test.eof, len(test.data), hash.Sum32()))
		}
	})
}

func TestOperations(t *testing.T) {
	location, files := place(t)
	refused := func(kind abi.Kind, message string) string {
		return fmt.Sprintf(`{"error":{"kind":%q,"message":%q}}`, kind, message)
	}
	const cancelled = "the call was cancelled"
	tests := []struct {
		op, request string
		want        string
		shown, log  []string
		person      func(ctx context.Context) error
	}{
		{op: "log", request: `{"level":"warn","message":"ünï\n🙂"}`, want: `{"ok":{}}`, log: []string{"warn: ünï 🙂"}},
		{op: "log", request: `{"level":"loud","message":"x"}`, want: refused(abi.KindInvalidInput, `level is "loud"; it must be debug, info, warn or error`)},
		{op: "progress", request: `{"text":"half way"}`, want: `{"ok":{}}`, shown: []string{"progress: half way"}},
		{op: "fs.list", request: `{"path":"empty.txt","other":1}`,
			want: refused(abi.KindInvalidInput, `the request cannot be read: json: unknown field "other"`)},
		{op: "later.operation", request: `{"a":[{}]}`, want: refused(abi.KindUnavailable, `this host has no operation "later.operation"`)},
		{op: "", request: `{}`, want: refused(abi.KindUnavailable, `this host has no operation ""`)},
		{op: "fs.read", request: `{"path":"large.bin"}`, want: refused(abi.KindCancelled, cancelled),
			person: func(context.Context) error { return session.ErrInterrupted }},
		{op: "fs.read", request: `{"path":"large.bin"}`, want: refused(abi.KindDenied, (&session.DeniedError{Action: "read", Resource: "large.bin"}).Error()),
			person: func(context.Context) error { return &session.DeniedError{Action: "read", Resource: "large.bin"} }},
	}
	each(t, func(t *testing.T, g guest) {
		for _, test := range tests {
			p := toolsOf(t, g)
			host := &toolHost{rules: guarded(), person: test.person}
			input := fmt.Appendf(nil, `{"op":%q,"request":%s}`, test.op, test.request)
			output, err := p.tool(t, "ask", files).Execute(t.Context(), session.ToolCall{Input: input, Location: location, Host: host})
			if err != nil {
				t.Errorf("%s: %v", input, err)
				continue
			}
			sameJSON(t, string(input), output.Structured, []byte(test.want))
			if diff := cmp.Diff(test.shown, host.shown.all()); diff != "" {
				t.Errorf("%s: shown %s", input, diff)
			}
			if diff := cmp.Diff(test.log, p.lines.all()); diff != "" {
				t.Errorf("%s: log %s", input, diff)
			}
		}
	})
}

// Answers of the host that are not fixed texts come through whole.
func TestListing(t *testing.T) {
	location, files := place(t)
	each(t, func(t *testing.T, g guest) {
		output, err := toolsOf(t, g).tool(t, "ask", files).Execute(t.Context(), session.ToolCall{
			Input: []byte(`{"op":"fs.list","request":{"path":"."}}`), Location: location, Host: &toolHost{rules: guarded()},
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer abi.Answer[abi.FSListed]
		if err := json.Unmarshal(output.Structured, &answer); err != nil || answer.OK == nil {
			t.Fatalf("%v in %s", err, output.Structured)
		}
		var names []string
		for _, entry := range answer.OK.Entries {
			names = append(names, fmt.Sprint(entry.Name, " ", entry.Size))
			if entry.ModifiedMS < 1_700_000_000_000 {
				t.Errorf("%s was modified at %d", entry.Name, entry.ModifiedMS)
			}
		}
		if diff := cmp.Diff([]string{"bytes.bin 1024", "empty.txt 0", "large.bin 1048576", "ünï 🙂.txt 4"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

// A caller who gives up during an operation: the operation says so, and what the
// guest then answers counts.
func TestCancelDuringAnOperation(t *testing.T) {
	location, files := place(t)
	each(t, func(t *testing.T, g guest) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		host := &toolHost{rules: guarded(), person: func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}}
		output, err := toolsOf(t, g).tool(t, "ask", files).Execute(ctx, session.ToolCall{
			Input: []byte(`{"op":"fs.read","request":{"path":"large.bin"}}`), Location: location, Host: host, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer abi.Answer[abi.None]
		if err := json.Unmarshal(output.Structured, &answer); err != nil || answer.Error == nil || answer.Error.Kind != abi.KindCancelled {
			t.Errorf("answer %s", output.Structured)
		}
	})
}
