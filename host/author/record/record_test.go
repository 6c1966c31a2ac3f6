package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/author/record"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifest = `# What it does stands in the README.
schema = 1
id = "acme/fetcher"
version = "1.0.0"
description = "d"
[config]
schema = '{"type":"object"}'
[[tool]]
name = "fetch" # the only one
description = "d"
input = '{"type":"object"}'`

// workplace is a plugin's folder as it was built.
func workplace(t *testing.T, guest *bridgetest.Guest) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{plugin.ManifestName: manifest, "guest.wasm": string(guest.Bytes())} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// asking asks for a file and answers what it was told.
func asking() *bridgetest.Guest {
	return bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"/project/notes"}`, `{"ok":{"structured":`, `}}`)
}

func message(body string, raw string) replay.Data {
	return abi.EncodeMessage([]byte(body), []byte(raw))
}

// recording is of a call of the tool that read a file.
func recording() *replay.Recording {
	return &replay.Recording{
		Header: replay.Header{Plugin: "acme/fetcher", Revision: "r1", Entry: abi.ExportTool, Time: time.Now(),
			Init: message(`{"meta":{"plugin":"acme/fetcher"},"body":{"config":{"base":"https://ann:hunter2@h.example/x"},"minor":0}}`, ""),
			Input: message(`{"deadline_ms":10000,"meta":{"plugin":"acme/fetcher"},"body":{"tool":"fetch","input":{"n":1.50,"b":"/home/ann/work/shop/notes","a":"<&>"},`+
				`"location":{"directory":"/home/ann/work/shop/web","root":"/home/ann/work/shop"}}}`, "")},
		Steps: []replay.Step{{Operation: &replay.Operation{Name: "fs.read", Request: message(`{"path":"/home/ann/work/shop/notes"}`, ""),
			Answer: message(`{"ok":{"data":{"$bytes":[0,46]},"token":"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}}`, "customer-77 hunter2hunter2 and ünï at /home/ann")}}},
		End: replay.End{Output: message(`{"ok":{"structured":{"ok":{"data":{"$bytes":[0,46]},"token":"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}}}}`, "")},
	}
}

func newEngine(t *testing.T) *wasm.Engine {
	t.Helper()
	engine, err := plugin.NewEngine(plugin.EngineOptions{}, hclog.NewNullLogger())
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

func redaction() record.Redaction {
	scrubber := &secret.Scrubber{}
	scrubber.Add(secret.NewValue("hunter2hunter2"))
	return record.Redaction{Scrubber: scrubber, Home: "/home/ann", Patterns: []*regexp.Regexp{regexp.MustCompile(`customer-[0-9]+`)}}
}

// tree is what is in a folder, by name.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestACallBecomesAGolden(t *testing.T) {
	folder := workplace(t, asking())
	engine := newEngine(t)
	made, err := record.Make(t.Context(), engine, recording(), record.Options{Folder: folder, Redaction: redaction()})
	if err != nil {
		t.Fatal(err)
	}
	if !made.Passed || made.Input != "testdata/tool-1.json" || made.Output != "testdata/tool-1.out.json" || made.Export != "tool" {
		t.Errorf("%+v", made)
	}
	want := record.Replaced{"secret of the configuration": 1, "project folder": 4, "home folder": 1, "password in a URL": 1, "secret in a setting": 2, "match of customer-[0-9]+": 1}
	if diff := cmp.Diff(want, made.Replaced); diff != "" {
		t.Error(diff)
	}
	files := tree(t, folder)
	for name, text := range files {
		for _, told := range []string{"ann", "hunter2", "ghp_", "customer-77", "shop"} {
			if name != "guest.wasm" && strings.Contains(text, told) {
				t.Errorf("%s has %q:\n%s", name, told, text)
			}
		}
	}
	if want := manifest + "\n\n[[golden]]\nexport = \"tool\"\ninput = \"testdata/tool-1.json\"\noutput = \"testdata/tool-1.out.json\"\n"; files[plugin.ManifestName] != want {
		t.Errorf("the manifest:\n%s", files[plugin.ManifestName])
	}
	input := files["testdata/tool-1.json"]
	for _, kept := range []string{`"n": 1.50`, `"a": "<&>"`, `"b": "/project/notes"`, `"base": "https://[redacted]@h.example/x"`} {
		if !strings.Contains(input, kept) {
			t.Errorf("no %s in\n%s", kept, input)
		}
	}
	var read struct{ Operations []struct{ Text string } }
	if err := json.Unmarshal([]byte(input), &read); err != nil || len(read.Operations) != 1 || len(read.Operations[0].Text) != len("customer-77 hunter2hunter2 and ünï at /home/ann") {
		t.Errorf("the raw bytes are not as many as before: %v, %+v", err, read)
	}
	built, err := build.Look(folder)
	if err != nil {
		t.Fatal(err)
	}
	if results, err := golden.Run(t.Context(), engine, built); err != nil || !golden.Passed(results) || len(results) != 1 {
		t.Errorf("%+v, %v", results, err)
	}
	again, err := record.Make(t.Context(), engine, recording(), record.Options{Folder: folder, Redaction: redaction()})
	if err != nil || again.Input != "testdata/tool-2.json" {
		t.Errorf("%+v, %v", again, err)
	}
}

// What does not hold leaves the folder as it was.
func TestWhatIsNotRecorded(t *testing.T) {
	changed := func(change func(*replay.Recording)) *replay.Recording {
		r := recording()
		change(r)
		return r
	}
	clock := time.Second
	for _, test := range []struct {
		name, want string
		call       *replay.Recording
		options    record.Options
	}{
		{"another plugin", "it is of the plugin acme/other, and ", changed(func(r *replay.Recording) { r.Plugin = "acme/other" }), record.Options{}},
		{"another entry", "plinth_init is no entry that a golden calls", changed(func(r *replay.Recording) { r.Entry = abi.ExportInit }), record.Options{}},
		{"a cut one", "it was cut at its recorder's limit", changed(func(r *replay.Recording) { r.Cut = true }), record.Options{}},
		{"raw input", "its input has 3 raw bytes", changed(func(r *replay.Recording) { r.Input = message(`{"body":{}}`, "abc") }), record.Options{}},
		{"no message", "its input is no message", changed(func(r *replay.Recording) { r.Input = replay.Data("x") }), record.Options{}},
		{"no body", "its input has no body", changed(func(r *replay.Recording) { r.Input = message(`{}`, "") }), record.Options{}},
		{"an operation that was refused", "its operation 0: the engine refused it unread", changed(func(r *replay.Recording) { r.Steps[0].Operation.Name = "" }), record.Options{}},
		{"an operation that ended the call", "its operation 0: the call was ended in it", changed(func(r *replay.Recording) { r.Steps[0].Operation.Answer = nil }), record.Options{}},
		{"another answer", "does not come to what was recorded, so nothing is written: the answer is not what testdata/tool-1.out.json holds", changed(func(r *replay.Recording) { r.End.Output = message(`{"ok":{}}`, "") }), record.Options{}},
		{"a clock", "the recorded call asked 1 times for the time or for randomness", changed(func(r *replay.Recording) {
			r.Steps = append(r.Steps, replay.Step{Monotonic: &clock})
			r.End.Output = message(`{"ok":{}}`, "")
		}), record.Options{}},
		{"another operation, as now", "the plugin makes other operations than recorded", changed(func(r *replay.Recording) { r.Steps[0].Operation.Name = "fs.stat" }), record.Options{AsNow: true}},
		{"no answer", "the call came to no answer, so there is none to hold the plugin to; mend the plugin, then record with --as-now", changed(func(r *replay.Recording) {
			r.End = replay.End{Error: &replay.Failure{Kind: wasm.KindTrap, Message: "trap"}, Failed: true}
		}), record.Options{}},
		{"a bad name", `"../x" is no name for a golden`, recording(), record.Options{Name: "../x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := workplace(t, asking())
			before := tree(t, folder)
			test.options.Folder, test.options.Redaction = folder, redaction()
			_, err := record.Make(t.Context(), newEngine(t), test.call, test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if diff := cmp.Diff(before, tree(t, folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A call that was mended since is recorded with what is answered now.
func TestTheAnswerOfNow(t *testing.T) {
	for _, end := range []replay.End{
		{Output: message(`{"error":{"kind":"failed","message":"once"}}`, ""), Failed: true},
		{Error: &replay.Failure{Kind: wasm.KindTrap, Message: "trap"}, Failed: true},
	} {
		folder := workplace(t, asking())
		call := recording()
		call.End = end
		made, err := record.Make(t.Context(), newEngine(t), call, record.Options{Folder: folder, Name: "mended", Redaction: redaction(), AsNow: true})
		if err != nil || !made.Passed {
			t.Fatalf("%+v, %v", made, err)
		}
		if text := tree(t, folder)["testdata/mended.out.json"]; !strings.Contains(text, `"$bytes"`) || strings.Contains(text, "ghp_") {
			t.Errorf("%s", text)
		}
	}
}

// What is there is never overwritten, nor is a half golden left.
func TestFilesInTheWay(t *testing.T) {
	for _, taken := range []string{"testdata/mine.json", "testdata/mine.out.json"} {
		folder := workplace(t, asking())
		if err := errors.Join(os.Mkdir(filepath.Join(folder, "testdata"), 0o700), os.WriteFile(filepath.Join(folder, taken), []byte("kept"), 0o600)); err != nil {
			t.Fatal(err)
		}
		before := tree(t, folder)
		_, err := record.Make(t.Context(), newEngine(t), recording(), record.Options{Folder: folder, Name: "mine", Redaction: redaction()})
		if err == nil || !strings.Contains(err.Error(), taken+" is there already; choose another --name") {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff(before, tree(t, folder)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAManifestThatTakesNoMore(t *testing.T) {
	folder := workplace(t, asking())
	path := filepath.Join(folder, plugin.ManifestName)
	if err := os.WriteFile(path, []byte("golden = []\n"+manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, folder)
	_, err := record.Make(t.Context(), newEngine(t), recording(), record.Options{Folder: folder, Redaction: redaction()})
	if err == nil || !strings.Contains(err.Error(), "the manifest cannot take one more [[golden]]") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tree(t, folder)); diff != "" {
		t.Error(diff)
	}
}

// What a member is called says that its text is secret, wherever the text stands as well.
func TestMembersThatAreSecret(t *testing.T) {
	folder := workplace(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`))
	call := &replay.Recording{Header: replay.Header{Plugin: "acme/fetcher", Entry: abi.ExportTool,
		Init: message(`{"body":{"config":{"api_key":"correct horse","pin":{"password":["battery"]},"key":"name","max_tokens":100,"token":""}}}`, ""),
		Input: message(`{"body":{"before":"it has correct horse","headers":{"X-Auth-Token":"staple","Authorization":"Bearer [secret]"},`+
			`"properties":{"password":{"type":"string"}}}}`, "")},
		End: replay.End{Output: message(`{"ok":{}}`, "")}}
	made, err := record.Make(t.Context(), newEngine(t), call, record.Options{Folder: folder, Redaction: redaction()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record.Replaced{"secret in a setting": 3, "secret that was found": 1}, made.Replaced); diff != "" {
		t.Error(diff)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, []byte(tree(t, folder)[made.Input])); err != nil {
		t.Fatal(err)
	}
	want := `{"config":{"api_key":"[redacted]","pin":{"password":["[redacted]"]},"key":"name","max_tokens":100,"token":""},` +
		`"body":{"before":"it has [redacted]","headers":{"X-Auth-Token":"[redacted]","Authorization":"Bearer [secret]"},"properties":{"password":{"type":"string"}}}}`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsTakenOut(t *testing.T) {
	for _, test := range []struct {
		text, want string
		replaced   record.Replaced
	}{
		{"nothing to see, sk-1 and /homework", "nothing to see, sk-1 and /homework", record.Replaced{}},
		{"/home/ann/x, /home/ann and /home/anna/y, /Users/bob/z", "/home/user/x, /home/user and /home/user/y, /home/user/z", record.Replaced{"home folder": 4}},
		{"/work/shop/a /work/shop-b /work/shop", "/project/a /work/shop-b /project", record.Replaced{"project folder": 2}},
		{"Authorization: Bearer abcdefghijklmnop", "Authorization: [redacted]", record.Replaced{"bearer token": 1}},
		{"sk-proj-abcdefghijklmnop0123", "[redacted]", record.Replaced{"token": 1}},
		{"AKIAABCDEFGHIJKLMNOP glpat-abcdefghijklmnopqrst", "[redacted] [redacted]", record.Replaced{"token": 2}},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "[redacted]", record.Replaced{"JWT": 1}},
		{"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted]", record.Replaced{"private key": 1}},
		{"https://h.example/?q=1&api_key=abcdefgh&x=2", "https://h.example/?q=1&api_key=[redacted]&x=2", record.Replaced{"secret in a query": 1}},
		{`password: "correct horse"`, `password: "[redacted]"`, record.Replaced{"secret in a setting": 1}},
		{`{"refresh_token":"say \"so\" to me",'clientSecret': 'it is'}`, `{"refresh_token":"[redacted]",'clientSecret': '[redacted]'}`, record.Replaced{"secret in a setting": 2}},
		{`"{\"api_key\":\"in a text\",\"n\":\"in a text\"}"`, `"{\"api_key\":\"[redacted]\",\"n\":\"in a text\"}"`, record.Replaced{"secret in a setting": 1}},
		{"DB_PASSWORD=hunter3hunter3 X-Api-Key: 0123456789 tokens: 100000", "DB_PASSWORD=[redacted] X-Api-Key: [redacted] tokens: 100000", record.Replaced{"secret in a setting": 2}},
		{"Authorization: Token 0123456789\r\nCookie: a=deadbeef; b=c0ffee\nDate: now", "Authorization: [redacted]\r\nCookie: [redacted]\nDate: now", record.Replaced{"secret in a setting": 2}},
		{"redis://:swordfish@h.example", "redis://[redacted]@h.example", record.Replaced{"password in a URL": 1}},
		{"the key is 0123456789abcdef, ?key=0123456789abcdef", "the key is [redacted], ?key=[redacted]", record.Replaced{"secret in a query": 1, "secret that was found": 1}},
		{"?key=[secret]", "?key=[secret]", record.Replaced{}},
		{"it is hunter2hunter2", "it is [secret]", record.Replaced{"secret of the configuration": 1}},
	} {
		folder := workplace(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`))
		body, err := json.Marshal(map[string]any{"input": test.text, "location": map[string]string{"root": "/work/shop"}})
		if err != nil {
			t.Fatal(err)
		}
		call := &replay.Recording{Header: replay.Header{Plugin: "acme/fetcher", Entry: abi.ExportTool, Input: message(`{"body":`+string(body)+`}`, "")}, End: replay.End{Output: message(`{"ok":{}}`, "")}}
		made, err := record.Make(t.Context(), newEngine(t), call, record.Options{Folder: folder, Redaction: redaction()})
		if err != nil {
			t.Fatal(err)
		}
		test.replaced["project folder"]++ // of the location
		if diff := cmp.Diff(test.replaced, made.Replaced); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
		var read struct{ Body struct{ Input string } }
		if err := json.Unmarshal([]byte(tree(t, folder)[made.Input]), &read); err != nil || read.Body.Input != test.want {
			t.Errorf("%q: %q, want %q, %v", test.text, read.Body.Input, test.want, err)
		}
		if names := slices.Collect(maps.Keys(made.Replaced)); strings.Count(made.Replaced.String(), " × ") != len(names) {
			t.Errorf("%s", made.Replaced)
		}
	}
}
