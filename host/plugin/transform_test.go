package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// kernel is a whole kernel with plugins: what they change shows in the request that
// the scripted provider gets.
func kernel(t *testing.T) (*sessiontest.World, *Manager) {
	t.Helper()
	w := sessiontest.New(t, sessiontest.Options{})
	kept, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewManager(Options{Registries: w.Registries, Kinds: w.Kinds, Depot: kept, Ledger: session.NewPlugins(w.Log, w.Encoder), Logger: hclog.NewNullLogger(),
		Services: &bridge.Services{Rules: w.Permissions, Clock: sessiontest.Clock{}, Store: bridge.NewPluginStore(w.Log.KV())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the kernel closes
		w.Coordinator.Close(0)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, m
}

// upload has a plugin serve that asks for nothing.
func upload(t *testing.T, m *Manager, candidate Candidate) {
	t.Helper()
	if _, err := m.Offer(t.Context(), Offer{Candidate: candidate, Source: SourceUpload, By: ann}); err != nil {
		t.Fatal(err)
	}
}

// add makes a transform that answers these edits.
func add(t *testing.T, m *Manager, id, tables, edits string) {
	t.Helper()
	guest := bridgetest.New().Answers(abi.ExportTransform, `{"ok":{"edits":[`+edits+`]}}`)
	upload(t, m, packed(t, guest, manifest(id, "[[transform]]\nname = \"edit\"\n"+tables)))
}

// ask prompts the session once and answers the request the model got, and the
// failure the turn ended with.
func ask(t *testing.T, w *sessiontest.World, id string, n int) (request session.ModelRequest, failure string) {
	t.Helper()
	w.Provider.Script(sessiontest.Say("fine"))
	w.Prompt(id, "hello", session.Steer)
	events := w.Settled(id, n)
	if text := sessiontest.Text(events[len(events)-1:]); strings.Contains(text, "The transform") {
		failure = text
	}
	if requests := w.Provider.Requests(); len(requests) > 0 {
		request = requests[len(requests)-1]
	}
	return request, failure
}

const writesAll = `writes = ["system", "messages", "tools", "generation", "options", "headers"]` + "\n"

func TestEditsReachTheModel(t *testing.T) {
	w, m := kernel(t)
	upload(t, m, packed(t, saying("x"), manifest("acme/tools", toolTable("keep")+toolTable("drop"))))
	add(t, m, "acme/first", writesAll+"order = 1\n", `
		{"part":"system","op":"append","id":"a","value":"first"}, {"part":"system","op":"append","id":"b","value":"second"},
		{"part":"tools","op":"drop","id":"drop"}, {"part":"tools","op":"replace","id":"keep","value":"better"},
		{"part":"generation","op":"set","id":"temperature","value":0.25}, {"part":"generation","op":"set","id":"stop","value":["."]},
		{"part":"options","op":"set","id":"effort","value":{"level":3}}, {"part":"headers","op":"set","id":"X-Team","value":"blue"}`)
	add(t, m, "acme/second", writesAll+"order = 2\n", `
		{"part":"system","op":"replace","id":"a","value":"replaced"}, {"part":"system","op":"drop","id":"b"},
		{"part":"headers","op":"drop","id":"X-None"}`)
	id := w.Create()
	request, failure := ask(t, w, id, 1)
	if failure != "" {
		t.Fatal(failure)
	}
	var system string
	for _, part := range request.System {
		system += part.Text + "\n"
	}
	if strings.TrimSpace(system) != "replaced" {
		t.Errorf("system %q", system)
	}
	if len(request.Tools) != 1 || request.Tools[0].Name != "keep" || request.Tools[0].Description != "better" {
		t.Errorf("tools %+v", request.Tools)
	}
	if g := request.Generation; g.Temperature == nil || *g.Temperature != 0.25 || !cmp.Equal(g.Stop, []string{"."}) {
		t.Errorf("generation %+v", g)
	}
	if string(request.Options["effort"]) != `{"level":3}` || !cmp.Equal(request.Headers, map[string]string{"X-Team": "blue"}) {
		t.Errorf("options %s, headers %v", request.Options["effort"], request.Headers)
	}
	// A message's part is named by the id that the next turn shows too.
	prompt := request.Messages[0].Parts[0].ID
	add(t, m, "acme/third", `writes = ["messages"]`+"\n", `{"part":"messages","op":"replace","id":"`+prompt+`","value":"goodbye"}`)
	request, failure = ask(t, w, id, 2)
	if failure != "" || request.Messages[0].Parts[0].Text != "goodbye" || request.Messages[0].Parts[0].ID != prompt {
		t.Errorf("%q, %+v", failure, request.Messages)
	}
}

// An edit that cannot be made fails the turn with its reason, and the request is
// not sent.
func TestEditsThatAreRefused(t *testing.T) {
	const system = `writes = ["system"]` + "\n"
	tests := []struct{ name, tables, edit, want string }{
		{"a part it does not write", system, `{"part":"tools","op":"drop","id":"keep"}`, `edit 0 writes "tools", which it does not declare to write`},
		{"the model", system, `{"part":"model","op":"set","id":"model","value":"other"}`, `edit 0 writes "model", which it does not declare to write`},
		{"an id that is taken", system, `{"part":"system","op":"append","id":"a","value":"x"},{"part":"system","op":"append","id":"a","value":"y"}`, `edit 1: append of system "a": a part of that id exists`},
		{"an id that is not there", system, `{"part":"system","op":"replace","id":"none","value":"x"}`, `edit 0: replace of system "none": there is none of that id`},
		{"dropping what is not there", system, `{"part":"system","op":"drop","id":"none"}`, `edit 0: drop of system "none": there is none of that id`},
		{"another operation", system, `{"part":"system","op":"set","id":"a","value":"x"}`, `edit 0: set of system "a": this part has no such operation`},
		{"a value of another type", system, `{"part":"system","op":"append","id":"a","value":7}`, `edit 0: append of system "a": the value must be a JSON string`},
		{"no value", system, `{"part":"system","op":"append","id":"a"}`, `edit 0: append of system "a": the value must be a JSON string`},
		{"a message that is not there", writesAll, `{"part":"messages","op":"replace","id":"msg_none/0","value":"x"}`, `edit 0: replace of messages "msg_none/0": there is none of that id`},
		{"appending a message", writesAll, `{"part":"messages","op":"append","id":"m","value":"x"}`, `edit 0: append of messages "m": this part has no such operation`},
		{"a tool that is not there", writesAll, `{"part":"tools","op":"drop","id":"none"}`, `edit 0: drop of tools "none": there is none of that id`},
		{"a control that is not there", writesAll, `{"part":"generation","op":"set","id":"top_k","value":1}`, `edit 0: set of generation "top_k": there is no such control; there are max_tokens, temperature, top_p, seed and stop`},
		{"a header that is no text", writesAll, `{"part":"headers","op":"set","id":"X","value":[1]}`, `edit 0: set of headers "X": the value must be a JSON string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, m := kernel(t)
			add(t, m, "acme/bad", test.tables, test.edit)
			request, failure := ask(t, w, w.Create(), 1)
			quoted := strings.ReplaceAll(test.want, `"`, `\"`)
			if !strings.Contains(failure, "The transform acme/bad/edit failed: "+quoted+"; remove it or set its on_error to skip") || request.Model.Model != "" {
				t.Errorf("%s", failure)
			}
		})
	}
}

// A transform that may be skipped changes nothing when it fails.
func TestATransformThatMayBeSkipped(t *testing.T) {
	w, m := kernel(t)
	add(t, m, "acme/bad", writesAll+"on_error = \"skip\"\n", `{"part":"headers","op":"set","id":"X","value":"half"},{"part":"tools","op":"drop","id":"none"}`)
	request, failure := ask(t, w, w.Create(), 1)
	if failure != "" || request.Model.Model == "" || request.Headers != nil {
		t.Errorf("%q, %+v", failure, request)
	}
}
