package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
)

const goldenTable = "[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n"

// recorded is a plugin's folder with one golden.
func recorded(t *testing.T, input, output string) string {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, map[string]string{ManifestName: manifest("acme/gold", toolTable("a")+goldenTable), "in.json": input, "out.json": output})
	return folder
}

func TestGoldensAreRead(t *testing.T) {
	folder := recorded(t, `{
		"config": {"n": 1}, "body": {"tool": "a"},
		"operations": [
			{"op": "fs.stat", "request": {"path": "x"}, "answer": {"error": {"kind": "not_found", "message": "no"}}},
			{"op": "fs.read", "request": {}, "answer": {"ok": {"data": {"$bytes": [0, 3]}}}, "text": "abc"},
			{"op": "fs.read", "request": {}, "answer": {"ok": {}}, "base64": "/wA="}
		]
	}`, `{"ok":{}}`)
	goldens, err := Goldens(folder)
	want := []Golden{{
		Input: "in.json", Output: "out.json", Entry: abi.ExportTool, Config: []byte(`{"n": 1}`), Body: []byte(`{"tool": "a"}`), Answer: []byte(`{"ok":{}}`),
		Operations: []GoldenOperation{
			{Name: "fs.stat", Request: []byte(`{"path": "x"}`), Answer: bridgetest.Message(`{"error": {"kind": "not_found", "message": "no"}}`)},
			{Name: "fs.read", Request: []byte(`{}`), Answer: append(bridgetest.Message(`{"ok": {"data": {"$bytes": [0, 3]}}}`), "abc"...)},
			{Name: "fs.read", Request: []byte(`{}`), Answer: append(bridgetest.Message(`{"ok": {}}`), 0xff, 0)},
		},
	}}
	if diff := cmp.Diff(want, goldens); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestGoldenFilesThatAreRefused(t *testing.T) {
	operation := func(fields string) string { return `{"body":{},"operations":[{` + fields + `}]}` }
	const ok = `{"ok":{}}`
	tests := []struct{ name, input, output, want string }{
		{"not JSON", `{"body":`, ok, "in.json: unexpected EOF; it has config, body and operations"},
		{"empty", ``, ok, "in.json: EOF; it has config, body and operations"},
		{"unknown field", `{"body":{},"ops":[]}`, ok, `in.json: unknown field "ops"; it has config, body and operations`},
		{"two values", `{"body":{}} {}`, ok, "in.json: there is more behind the JSON value; it has config, body and operations"},
		{"something behind", `{"body":{}}}`, ok, "in.json: there is more behind the JSON value; it has config, body and operations"},
		{"no body", `{}`, ok, "in.json: body: it must be an object, the body of the call as abi/v1 has it"},
		{"a list as body", `{"body":[]}`, ok, "in.json: body: it must be an object"},
		{"an operation without a name", operation(`"request":{},"answer":{"ok":{}}`), ok, "in.json: operations[0].op: it is missing; name the operation, for example fs.read"},
		{"an operation without a request", operation(`"op":"log","answer":{"ok":{}}`), ok, "in.json: operations[0].request: it must be an object"},
		{"an operation without an answer", operation(`"op":"log","request":{}`), ok, "in.json: operations[0].answer: it must be the answer as JSON: "},
		{"an operation with half an answer", operation(`"op":"log","request":{},"answer":{}`), ok, `in.json: operations[0].answer: it must be {"ok": …} or {"error": …}`},
		{"an operation with two sorts of bytes", operation(`"op":"log","request":{},"answer":{"ok":{}},"text":"a","base64":"YQ=="`), ok, "in.json: operations[0]: it has both text and base64; leave one"},
		{"an operation with bad base64", operation(`"op":"log","request":{},"answer":{"ok":{}},"base64":"!"`), ok, "in.json: operations[0].base64: illegal base64 data at input byte 0"},
		{"an output that is no JSON", `{"body":{}}`, `ok`, "out.json: it must be the answer as JSON: invalid character 'o' looking for beginning of value"},
		{"an output of another form", `{"body":{}}`, `{"content":[]}`, `out.json: it must be {"ok": …} or {"error": …}`},
		{"an output of two forms", `{"body":{}}`, `{"ok":{},"error":{}}`, `out.json: it must be {"ok": …} or {"error": …}`},
	}
	for _, test := range tests {
		folder := recorded(t, test.input, test.output)
		_, err := Goldens(folder)
		var refused *GoldenError
		if !errors.As(err, &refused) || !strings.HasPrefix(strings.TrimPrefix(err.Error(), folder+"/"), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
	}
}

func TestGoldenFilesThatAreNotThere(t *testing.T) {
	folder := recorded(t, `{"body":{}}`, `{"ok":{}}`)
	outside := filepath.Join(t.TempDir(), "secret.json")
	put(t, filepath.Dir(outside), map[string]string{"secret.json": `{"body":{}}`})
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return os.Remove(filepath.Join(folder, "out.json")) }, "out.json: no such file or directory; plinth plugin test --update writes it"},
		{func() error { return os.Remove(filepath.Join(folder, "in.json")) }, "in.json: no such file or directory; write the call there, or take the [[golden]] out"},
		{func() error { return os.Symlink(outside, filepath.Join(folder, "in.json")) }, "in.json: it is a link that cannot be followed within the plugin's folder (path escapes from parent); put the file itself there"},
		{func() error { return os.Remove(filepath.Join(folder, ManifestName)) }, "plugin.toml: it is missing; every plugin folder has one"},
		{func() error { return os.RemoveAll(folder) }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if _, err := Goldens(folder); err == nil || step.want != "" && err.Error() != filepath.Join(folder, step.want) {
			t.Errorf("got %v, want %s", err, step.want)
		}
	}
}

func newEngine(t *testing.T) *wasm.Engine {
	t.Helper()
	engine, err := NewEngine(EngineOptions{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func TestGoldensInTheEngine(t *testing.T) {
	const (
		answer = `{"ok":{"title":"T","structured":{"n":[1,2]}}}`
		stat   = `{"op":"fs.stat","request":{"path":"a","root":"location"},"answer":{"ok":{"size":3}}}`
		asked  = `{"ok":{"structured":{"ok":{"size":3}}}}`
	)
	asking := func() *bridgetest.Guest {
		return bridgetest.NewAsking().Asks(abi.ExportTool, "fs.stat", `{"root":"location","path":"a"}`, `{"ok":{"structured":`, `}}`)
	}
	operations := func(recorded ...string) string {
		return `{"body":{},"operations":[` + strings.Join(recorded, ",") + `]}`
	}
	plain := `{"body":{"tool":"a"}}`
	tests := []struct {
		name          string
		guest         *bridgetest.Guest
		input, output string
		want          string // the error; empty: it holds
	}{
		{"the same", bridgetest.New().Answers(abi.ExportTool, answer), plain, ` { "ok": {"structured": {"n": [1, 2.0]}, "title": "T"} }`, ""},
		{"an error", bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"denied","message":"no"}}`), plain, `{"error":{"message":"no","kind":"denied"}}`, ""},
		{"raw bytes are not compared", bridgetest.New().AnswersBytes(abi.ExportTool, append(bridgetest.Message(answer), "raw"...)), plain, answer, ""},
		{"operations", asking(), operations(stat), asked, ""},
		{"another answer", bridgetest.New().Answers(abi.ExportTool, answer), plain, `{"ok":{"title":"U","structured":{"n":[1]}}}`,
			"in.json: the answer is not what out.json holds\n  ok.structured.n[1]: got 2, want nothing\n  ok.title: got \"T\", want \"U\"\n" +
				"Correct the plugin, or record the golden anew if the change is meant."},
		{"another request", asking(), operations(strings.Replace(stat, `"a"`, `"b"`, 1)), asked,
			"in.json: the plugin makes other operations than recorded\n  operations[0].request.path: got \"a\", want \"b\"\n"},
		{"another operation", asking(), operations(strings.Replace(stat, "fs.stat", "fs.list", 1)), asked,
			"in.json: the plugin makes other operations than recorded\n  operations[0]: got {\"op\":\"fs.stat\",\"request\":{\"root\":\"location\",\"path\":\"a\"}}, want {\"op\":\"fs.list\","},
		{"an operation more", asking(), operations(), asked,
			"in.json: the plugin makes other operations than recorded\n  operations[0]: got {\"op\":\"fs.stat\",\"request\":{\"root\":\"location\",\"path\":\"a\"}}, want nothing\n"},
		{"an operation less", asking(), operations(stat, stat), asked,
			"in.json: the plugin makes other operations than recorded\n  operations[1]: got nothing, want {\"op\":\"fs.stat\","},
		{"a request without JSON", bridgetest.NewAsking().Asks(abi.ExportTool, "log", "text", `{"ok":{"structured":`, `}}`), operations(stat), asked,
			"in.json: the plugin makes other operations than recorded\n  operations[0].request: got \"no message with JSON in it\", want \"the operation's request\"\n"},
		{"another answer the second time", bridgetest.New().AnswersThen(abi.ExportTool, answer, `{"ok":{"title":"again"}}`), plain, answer,
			"in.json: a second call on the same instance does not repeat the first: the answer is not what out.json holds\n  ok.structured: got nothing, want {\"n\":[1,2]}\n"},
		{"a trap", bridgetest.New().Traps(abi.ExportTool), plain, answer, "in.json: call plinth_tool_execute of module acme/gold: trap in plinth_tool_execute: "},
		{"no answer", bridgetest.New().AnswersBytes(abi.ExportTool, []byte{1}), plain, answer, "in.json: malformed message: 1 bytes, the length alone has 4"},
		{"an answer that is no JSON", bridgetest.New().Answers(abi.ExportTool, "x"), plain, answer, "in.json: the answer is not JSON: "},
	}
	engine := newEngine(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := recorded(t, test.input, test.output)
			put(t, folder, map[string]string{"guest.wasm": string(test.guest.Bytes())})
			candidate, err := Unpacked(folder)
			if err != nil {
				t.Fatal(err)
			}
			candidate.Manifest.Isolation.Mode = "sticky" // what an instance keeps must show
			goldens, err := Goldens(folder)
			if err != nil {
				t.Fatal(err)
			}
			proofs, err := Prove(t.Context(), engine, candidate, goldens)
			if err != nil || len(proofs) != 1 {
				t.Fatalf("%v, %v", proofs, err)
			}
			proof := proofs[0]
			if test.want == "" {
				if proof.Err != nil || proof.Duration <= 0 || proof.Memory == 0 || proof.Golden.Input != "in.json" {
					t.Errorf("%+v", proof)
				}
				return
			}
			if proof.Err == nil || !strings.HasPrefix(proof.Err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", proof.Err, test.want)
			}
			var mismatch *GoldenMismatch
			var broken *GoldenError
			if !errors.As(proof.Err, &mismatch) && !errors.As(proof.Err, &broken) {
				t.Errorf("%T", proof.Err)
			}
		})
	}
}

// A golden that does not end is told how long it has.
func TestAGoldenThatTakesTooLong(t *testing.T) {
	err := withDeadline(fmt.Errorf("call a: %w", wasm.ErrDeadline))
	if want := "call a: deadline passed; a golden has 10s, whatever the manifest says: let it end sooner"; err.Error() != want || !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); withDeadline(other) != other {
		t.Errorf("%v", withDeadline(other))
	}
}

// An answer that a session would refuse does not hold, recorded or not.
func TestGoldensFitTheOutputSchema(t *testing.T) {
	engine := newEngine(t)
	table := toolTable("a") + `output = '{"type":"object","required":["n"]}'` + "\n"
	for _, test := range []struct{ answer, want string }{
		{`{"ok":{"structured":{"n":1}}}`, ""},
		{`{"error":{"kind":"denied","message":"no"}}`, ""},
		{`{"ok":{"structured":{"m":1}}}`, "out.json: the structured output of a does not fit its output schema, so the call fails in a session: missing property 'n'"},
		{`{"ok":{"title":"t"}}`, "out.json: the answer of a has no structured output, so the call fails in a session; answer one, or take output out of its [[tool]]"},
	} {
		golden := Golden{Input: "in.json", Output: "out.json", Entry: abi.ExportTool, Body: json.RawMessage(`{"tool":"a"}`), Answer: json.RawMessage(test.answer)}
		proofs, err := Prove(t.Context(), engine, packed(t, bridgetest.New().Answers(abi.ExportTool, test.answer), manifest("acme/gold", table)), []Golden{golden})
		if err != nil || len(proofs) != 1 {
			t.Fatalf("%v, %v", proofs, err)
		}
		if got := proofs[0].Err; test.want == "" && got != nil || test.want != "" && (got == nil || got.Error() != test.want) {
			t.Errorf("%s: %v, want %q", test.answer, got, test.want)
		}
	}
}

// Goldens with settings run on an instance that was started with them.
func TestGoldensWithSettings(t *testing.T) {
	const config = "[config]\nschema = '{\"type\":\"object\",\"required\":[\"n\"]}'\n"
	guest := bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`)
	folder := recorded(t, `{"config":{"n":1},"body":{}}`, `{"ok":{}}`)
	goldens, err := Goldens(folder)
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(t)
	proofs, err := Prove(t.Context(), engine, packed(t, guest, manifest("acme/gold", config+toolTable("a"))), goldens)
	if err != nil || len(proofs) != 1 || proofs[0].Err != nil {
		t.Errorf("%v, %v", proofs, err)
	}
	_, err = Prove(t.Context(), engine, packed(t, guest, manifest("acme/gold", toolTable("a"))), goldens)
	if err == nil || err.Error() != `in.json: config: plugins."acme/gold".config: the plugin has no settings; remove them` {
		t.Errorf("%v", err)
	}
	refusing := bridgetest.New().Answers(abi.ExportInit, `{"error":{"kind":"invalid_input","message":"n is 1"}}`).Answers(abi.ExportTool, `{"ok":{}}`)
	_, err = Prove(t.Context(), engine, packed(t, refusing, manifest("acme/gold", config+toolTable("a"))), goldens)
	if err == nil || !strings.HasSuffix(err.Error(), "invalid_input: n is 1") {
		t.Errorf("%v", err)
	}
	goldens[0].Config = []byte(`[1]`)
	_, err = Prove(t.Context(), engine, packed(t, guest, manifest("acme/gold", config+toolTable("a"))), goldens)
	if err == nil || err.Error() != "in.json: config: it must be an object, the plugin's settings" {
		t.Errorf("%v", err)
	}
}
