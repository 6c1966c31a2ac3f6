package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// stageWith is a whole kernel with a manager, to rehearse on.
func stageWith(t *testing.T, options Options) (*sessiontest.World, *Manager) {
	t.Helper()
	w := sessiontest.New(t, sessiontest.Options{})
	return w, managerOver(t, w, options)
}

// managerOver is a manager with the world's log and registries. It is closed before the
// kernel.
func managerOver(t *testing.T, w *sessiontest.World, options Options) *Manager {
	t.Helper()
	kept, err := depot.Open(filepath.Join(w.Dir, "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	options.Registries, options.Kinds, options.Ledger, options.Depot = w.Registries, w.Kinds, session.NewPlugins(w.Log, w.Encoder), kept
	options.Services = &bridge.Services{Rules: w.Permissions, Clock: sessiontest.Clock{}, Store: bridge.NewPluginStore(w.Log.KV()), Blobs: w.Log.Blobs()}
	options.Logger = hclog.NewNullLogger()
	m, err := NewManager(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Coordinator.Close(0)
		closed(t, m)
	})
	return m
}

func closed(t *testing.T, m *Manager) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// offered has a plugin serve.
func offered(t *testing.T, m *Manager, candidate Candidate, grants ...string) {
	t.Helper()
	known, err := m.Offer(t.Context(), Offer{Candidate: candidate, Source: SourceUpload, By: session.Origin{Actor: "test"}, Grants: grants})
	if err != nil || known.State != session.PluginStateActive {
		t.Fatalf("%+v, %v", known, err)
	}
}

func past(t *testing.T, w *sessiontest.World, id string) runner.Past {
	t.Helper()
	past, err := w.Runner.Past(bridge.Rehearsing(t.Context()), id, 10)
	if err != nil {
		t.Fatal(err)
	}
	return past
}

func rehearse(t *testing.T, m *Manager, candidate Candidate, past runner.Past) Rehearsal {
	t.Helper()
	rehearsal, err := m.Rehearse(t.Context(), candidate, past)
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal
}

// found are the findings, each with its changes in a line.
func found(r Rehearsal) (all []string) {
	for _, finding := range r.Findings {
		text := finding.String()
		for _, change := range finding.Changes {
			text += "; " + change.String()
		}
		all = append(all, text)
	}
	return all
}

// remembering is a plugin whose context source asks for an operation and tells its answer.
func remembering(t *testing.T, version, operation, request, more string) Candidate {
	t.Helper()
	guest := bridgetest.NewAsking().Asks(abi.ExportContext, operation, request,
		`{"ok":{"sources":[{"key":"acme/memory","state":"value","baseline":"b","value":`, `}]}}`)
	text := manifest("acme/memory", "[[context]]\nkey = \"acme/memory\"\n[request.kv]\nreason = \"remembers\"\n"+more)
	return packed(t, guest, strings.Replace(text, "1.0.0", version, 1))
}

func TestARehearsalChangesAndSendsNothing(t *testing.T) {
	w, m := stageWith(t, Options{})
	old := remembering(t, "1.0.0", "kv.get", `{"key":"a"}`, "")
	offered(t, m, old, "kv")
	id := w.Create()
	recorded := past(t, w, id)
	if status, err := m.Show(Ref{ID: "acme/memory"}); err != nil || status.Figures.Calls != 0 || len(recorded.System) == 0 {
		t.Errorf("what was asked for the rehearsal counts: %+v, %v", status.Figures, err)
	}
	if same := rehearse(t, m, old, recorded); !same.Same() || !cmp.Equal(same.Checks, []Check{{Kind: CheckContext, Compared: 1}}) {
		t.Errorf("the same version: %+v", same)
	}
	setting := remembering(t, "1.1.0", "kv.set", `{"key":"a","value":"kept-now"}`, "")
	if got := found(rehearse(t, m, setting, recorded)); len(got) != 1 || !strings.Contains(strings.Join(got, ""), "this is a rehearsal, which changes and sends nothing: kv.set is refused") {
		t.Errorf("kv.set: %q", got)
	}
	fetching := remembering(t, "1.2.0", "http.fetch", `{"method":"GET","url":"https://example.com/"}`,
		"[[request.http]]\norigins = [\"https://example.com\"]\nmethods = [\"GET\"]\npaths = [\"/**\"]\nreason = \"asks\"\n")
	got := rehearse(t, m, fetching, recorded)
	if text := strings.Join(found(got), ""); !strings.Contains(text, "http.fetch is refused") {
		t.Errorf("http.fetch: %q", text)
	}
	if !cmp.Equal(got.Withheld, []string{"http:https://example.com"}) || !strings.Contains(got.Manifest.String(), "https://example.com") {
		t.Errorf("%q, %s", got.Withheld, got.Manifest)
	}
	// What serves is as it was, and still nothing is kept.
	if again := rehearse(t, m, old, recorded); !again.Same() {
		t.Errorf("afterwards: %q", found(again))
	}
	if status, err := m.Show(Ref{ID: "acme/memory"}); err != nil || status.Current().Version != "1.0.0" || len(status.Revisions) != 1 || status.Held != nil {
		t.Errorf("%+v, %v", status, err)
	}
	// The source itself may do all that in a turn.
	offered(t, m, setting, "kv")
	w.Provider.Script(sessiontest.Say("fine"))
	w.Admit(id, "hello", session.Steer)
	w.Run(id)
	if text := strings.Join(found(rehearse(t, m, old, recorded)), ""); !strings.Contains(text, `kept-now`) {
		t.Errorf("kv.get after a turn: %q", text)
	}
}

// rehearsedCodec is a plugin with all but sources.
func rehearsedCodec(t *testing.T, version, path, message, text, temperature, schema string) Candidate {
	t.Helper()
	guest := saying("hello").
		Answers(abi.ExportProviderEncode, `{"ok":{"method":"POST","path":"`+path+`","headers":{"x-version":"1"},"body":{"stream":true}}}`).
		Answers(abi.ExportProviderClassify, `{"ok":{"classification":"overloaded","message":"`+message+`","retryable":true}}`).
		Decodes(`{"ok":{"events":[{"type":"text.delta","id":"1","text":"`+text+`"}]}}`, `{"ok":{"events":[{"type":"finish","reason":"stop"}]}}`).
		Answers(abi.ExportTransform, `{"ok":{"edits":[{"part":"generation","op":"set","id":"temperature","value":`+temperature+`},{"part":"system","op":"append","id":"acme/rules","value":"`+temperature+`"}]}}`)
	tables := "[[tool]]\nname = \"greet\"\ndescription = \"d\"\ninput = '" + schema + "'\npermission = \"by-operation\"\n" +
		"[[provider]]\nid = \"codec\"\nframing = \"sse\"\n[[transform]]\nname = \"rules\"\nwrites = [\"system\", \"generation\"]\n"
	return packed(t, guest, strings.Replace(manifest("acme/all", tables), "1.0.0", version, 1))
}

func TestWhatARehearsalCompares(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {}\n\n")
	}))
	defer server.Close()
	recordings, err := replay.OpenFolder(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	w, m := stageWith(t, Options{
		Providers: map[string]Connection{"local": {Plugin: "acme/all", Open: func(egress.Auth) (*egress.Client, error) {
			return egress.New(egress.Options{BaseURL: server.URL})
		}}},
		Settings: map[string]Settings{"acme/all": {Record: RecordAll}}, Recordings: recordings,
	})
	const anything, strings1 = `{"type":"object","properties":{"text":{"type":["string","number"]}}}`, `{"type":"object","properties":{"text":{"type":"string"}}}`
	old := rehearsedCodec(t, "1.0.0", "/a", "busy", "one", "0.5", anything)
	offered(t, m, old)
	id := w.Create()
	w.Provider.Script(sessiontest.Calls("greet", `{"text":"a"}`, `{"text":1}`, `{"text":true}`), sessiontest.Say("fine"))
	w.Admit(id, "hello", session.Steer)
	w.Run(id)
	recorded := past(t, w, id)
	if len(recorded.Turns) != 2 || len(recorded.Turns[0].Calls) != 3 {
		t.Fatalf("%+v", recorded)
	}
	kinds := func(r Rehearsal) string { return fmt.Sprint(r.Checks) }
	if same := rehearse(t, m, old, recorded); !same.Same() ||
		!strings.Contains(kinds(same), "{encode 0 0 no recorded turn is of one of its providers}") || !strings.Contains(kinds(same), "no streams of it are recorded") {
		t.Errorf("the same version: %q %+v", found(same), same.Checks)
	}
	// The same turns with the plugin's own provider, and a stream of it that is recorded.
	for i := range recorded.Turns {
		recorded.Turns[i].Request.Model.Provider = "local"
	}
	pin := w.Registries.Pin("")
	local, _ := registry.Lookup(pin, w.Kinds.Providers, "local")
	for event, err := range local.Value.Stream(t.Context(), recorded.Turns[0].Request) {
		if err != nil {
			t.Fatal(event, err)
		}
	}
	pin.Release()
	if same := rehearse(t, m, old, recorded); !same.Same() || kinds(same) != "[{transform 3 0 } {encode 2 0 } {classify 9 0 } {decode 2 0 } {tool 2 0 }]" {
		t.Errorf("the same version on the plugin's own turns: %q %+v", found(same), same.Checks)
	}
	kept, err := recordings.List()
	if err != nil {
		t.Fatal(err)
	}
	got := rehearse(t, m, rehearsedCodec(t, "2.0.0", "/b", "very busy", "two", "0.25", strings1), recorded)
	if kinds(got) != "[{transform 3 3 } {encode 2 2 } {classify 9 9 } {decode 2 1 } {tool 2 1 }]" {
		t.Errorf("%+v", got.Checks)
	}
	first, second := recorded.Turns[0].Message, recorded.Turns[1].Message
	all := found(got)
	for _, want := range []string{
		`transform acme/all/rules; ok.edits[0].value: was "0.5", would be "0.25"`,
		"transform acme/all/rules on " + first + "; ok.edits[0].value: was 0.5, would be 0.25",
		"encode local on " + second + `; ok.path: was "/a", would be "/b"`,
		`classify local on status 429; ok.message: was "busy", would be "very busy"`,
		`tool greet on call ` + recorded.Turns[0].Calls[1].ID + "; input: was valid, would be not valid: ",
	} {
		if !slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no %q in\n%s", want, strings.Join(all, "\n"))
		}
	}
	if !slices.ContainsFunc(all, func(line string) bool {
		return strings.HasPrefix(line, "decode acme/all on ") && strings.HasSuffix(line, `text: was "one", would be "two"`)
	}) {
		t.Errorf("no decode in\n%s", strings.Join(all, "\n"))
	}
	if after, err := recordings.List(); err != nil || len(after) != len(kept) {
		t.Errorf("a rehearsal was recorded: %d, before %d, %v", len(after), len(kept), err)
	}
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

func TestRehearsalsThatAreRefused(t *testing.T) {
	w, m := stageWith(t, Options{})
	recorded := past(t, w, w.Create())
	candidate := packed(t, saying("a"), manifest("acme/a", toolTable("greet")))
	if _, err := m.Rehearse(t.Context(), candidate, recorded); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no plugin acme/a serves") {
		t.Errorf("one that does not serve: %v", err)
	}
	offered(t, m, candidate)
	broken := packed(t, saying("a").Answers(abi.ExportInit, `{"error":{"kind":"failed","message":"no"}}`), manifest("acme/a", toolTable("greet")))
	if _, err := m.Rehearse(t.Context(), broken, recorded); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "could not serve") {
		t.Errorf("one that does not start: %v", err)
	}
	if same := rehearse(t, m, candidate, recorded); !same.Same() || same.Turns != 0 {
		t.Errorf("afterwards: %+v", same)
	}
}

func TestARehearsalTellsSoMuch(t *testing.T) {
	var r Rehearsal
	for range MaxFindings + 2 {
		r.compared(Finding{Kind: CheckTool, Name: "a", Changes: []RehearsedChange{{Path: "input"}}})
	}
	if len(r.Findings) != MaxFindings || r.Omitted != 2 || !cmp.Equal(r.Checks, []Check{{Kind: CheckTool, Compared: MaxFindings + 2, Differ: MaxFindings + 2}}) {
		t.Errorf("%d, %d, %+v", len(r.Findings), r.Omitted, r.Checks)
	}
}

// A project's own plugin is what its sessions are rehearsed against.
func TestAProjectsPluginIsRehearsed(t *testing.T) {
	w, m := stageWith(t, Options{})
	recorded := past(t, w, w.Create())
	root := recorded.Session.Location.Root
	offered(t, m, remembering(t, "1.0.0", "kv.get", `{"key":"a"}`, ""), "kv")
	inProject := remembering(t, "3.0.0", "kv.get", `{"key":"b"}`, "")
	known, err := m.Offer(t.Context(), Offer{Candidate: inProject, Source: SourceProject, Location: root, By: session.Origin{Actor: "test"}, Grants: []string{}})
	if err != nil || known.State != session.PluginStateActive {
		t.Fatalf("%+v, %v", known, err)
	}
	got := rehearse(t, m, inProject, recorded)
	if !got.Same() || got.Location != root || got.Serving.Version != "3.0.0" || !cmp.Equal(got.Withheld, []string{"kv"}) {
		t.Errorf("%+v", got)
	}
	recorded.Session.Location.Root = "/elsewhere"
	if got := rehearse(t, m, inProject, recorded); got.Same() || got.Location != "" || got.Serving.Version != "1.0.0" || got.Withheld != nil {
		t.Errorf("elsewhere: %+v", got)
	}
}
