package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/tests/chat"
)

// prefixRig is a host whose provider is a server, and a session of it.
type prefixRig struct {
	*rig
	model *chat.Server
	id    string
	zone  string
	style bool // a reference is configured
	fact  bool // the plugin with a fact is there
}

func newPrefixRig(t *testing.T) *prefixRig {
	t.Helper()
	model, err := chat.Start(func(request chat.Request) chat.Turn {
		last := request.Messages[len(request.Messages)-1]
		switch {
		case len(request.Tools) == 0:
			return chat.Turn{Text: "## Goal\nRead the files"}
		case strings.HasPrefix(request.LastUser(), "read ") && last.Role != "tool" && !strings.Contains(last.Content, "beside"):
			return chat.Turn{Text: "Let me look", Calls: []chat.ToolCall{{ID: fmt.Sprint("call-", request.Turn), Name: "read",
				Arguments: fmt.Sprintf(`{"path":%q}`, strings.TrimPrefix(request.LastUser(), "read "))}}}
		}
		return chat.Turn{Text: "So it is"}
	}, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	p := &prefixRig{rig: newRig(t), model: model, zone: "Etc/GMT+12"}
	p.again()
	p.id = p.session()
	return p
}

// again starts the host anew as it is configured now.
func (p *prefixRig) again() {
	p.t.Helper()
	text := fmt.Sprintf("model = \"local/m\"\ntimezone = %q\n[compaction]\nkeep = 0\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\n", p.zone, p.model.URL)
	if p.style {
		text += "[references.style]\npath = \"/usr\"\ndescription = \"how to write\"\n"
	}
	p.configure(text)
	p.restart()
	if p.fact {
		p.install()
	}
}

// install contributes a source that leaves a text which takes it back.
func (p *prefixRig) install() {
	p.t.Helper()
	p.fact = true
	state := session.SourceState{Key: "acme/x/fact", State: session.SourceValue, Value: json.RawMessage(`"sunny"`),
		Baseline: "It is sunny.", Update: "It is sunny now.", Removed: "Nobody knows the weather any more."}
	p.contribute("acme/x", p.kinds.Contexts.Contribute("acme/x", 0, session.ContextSource(sessiontest.Source{Names: []string{state.Key},
		Run: func(context.Context, session.Observation) ([]session.SourceState, error) {
			return []session.SourceState{state}, nil
		}})))
}

func (p *prefixRig) uninstall() {
	p.t.Helper()
	p.fact = false
	if _, open := p.registries.Remove("acme/x", ""); !open {
		p.t.Fatal("there is no acme/x")
	}
}

// changes are what happens before a prompt. At no moment is it the same day in the two
// time zones.
var changes = map[int]func(p *prefixRig){
	4:  func(p *prefixRig) { p.write("AGENTS.md", "Be kind.\n") },
	7:  func(p *prefixRig) { p.install() },
	12: func(p *prefixRig) { p.zone = "Pacific/Kiritimati"; p.again() },
	16: func(p *prefixRig) { p.write("AGENTS.md", "Be kind and brief.\n") },
	19: func(p *prefixRig) { p.style = true; p.again() },
	23: func(p *prefixRig) { p.uninstall() },
	27: func(p *prefixRig) { p.remove("AGENTS.md"); p.zone = "Etc/GMT+12"; p.again() },
	33: func(p *prefixRig) { p.compact(); p.again() },
	38: func(p *prefixRig) { p.install(); p.write("AGENTS.md", "Be quick.\n") },
	42: func(p *prefixRig) { p.style = false; p.again() },
	46: func(p *prefixRig) { p.uninstall(); p.again() },
}

func (p *prefixRig) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.project, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *prefixRig) compact() {
	p.t.Helper()
	if _, err := p.command("sessions", "compact", p.id, "--wait"); err != nil {
		p.t.Fatal(err)
	}
}

// Fifty prompts through a whole host: the body of each request to the provider begins
// with that of the one before up to the end of its messages, and what stands behind them
// is the same, but where an epoch begins.
func TestBodiesKeepTheirBeginning(t *testing.T) {
	p := newPrefixRig(t)
	p.put("project/src/x.go", "package x\n")
	p.put("project/src/AGENTS.md", "Told beside the file.\n")
	p.put("project/lib/y.go", "package y\n")
	for i := range 50 {
		if change := changes[i]; change != nil {
			change(p)
		}
		text := fmt.Sprintf("Prompt %d: <a> & “b”%s", i, strings.Repeat(" and so on", 10)) // a summary is to save something
		switch i % 10 {
		case 3:
			text = "read lib/y.go"
		case 8:
			text = "read src/x.go"
		}
		if got := p.settled(p.id, text); got.Outcome != protocol.OutcomeCompleted {
			t.Fatalf("prompt %d ended as %+v", i, got)
		}
	}
	p.check()
}

// check holds the bodies to their beginnings, and the log to one epoch after the first.
func (p *prefixRig) check() {
	p.t.Helper()
	var bodies [][]byte
	for _, request := range p.model.Requests() {
		if len(request.Tools) > 0 {
			bodies = append(bodies, request.Body)
		}
	}
	var epochs, broken []int
	page, err := p.store.Read(p.t.Context(), p.id, -1, 10_000)
	if err != nil {
		p.t.Fatal(err)
	}
	turn, updates := 0, 0
	for _, event := range page.Events {
		switch e := p.decode(event).(type) {
		case session.TurnStarted:
			if e.Epoch == -1 {
				epochs = append(epochs, turn)
			}
			turn++
		case session.ContextUpdated:
			updates++
		}
	}
	if turn != len(bodies) || turn != 60 || updates < 10 {
		p.t.Fatalf("%d turns, %d bodies, %d updates", turn, len(bodies), updates)
	}
	for i := 1; i < len(bodies); i++ {
		before, rest := p.cut(bodies[i-1])
		_, end := p.cut(bodies[i])
		if !bytes.HasPrefix(bodies[i], before) || !bytes.Equal(rest, end) {
			broken = append(broken, i)
		}
	}
	compacted := 33 + 6 // six of the prompts before it took two turns
	if diff := cmp.Diff([]int{0, compacted}, epochs); diff != "" {
		p.t.Errorf("epochs began with the requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{compacted}, broken); diff != "" {
		p.t.Errorf("the bodies with another beginning (-want +got):\n%s", diff)
	}
}

// cut divides a body at the end of its messages.
func (p *prefixRig) cut(body []byte) (before, rest []byte) {
	p.t.Helper()
	var fields struct{ Messages json.RawMessage }
	if err := json.Unmarshal(body, &fields); err != nil {
		p.t.Fatal(err)
	}
	at := bytes.Index(body, fields.Messages) + len(fields.Messages) - 1
	return body[:at], body[at:]
}
