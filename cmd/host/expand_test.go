package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

const expandConfig = `
[commands.count]
description = "Counts"
template = "count 2 in $1 !` + "`" + `echo x >> runs; echo $1` + "`" + `"
[references.docs]
path = "/usr"
description = "system files"
[[permissions.rules]]
action = "bash"
resource = "echo *"
effect = "EFFECT"
`

// expandRig is a host with a command whose line the rules treat so.
func expandRig(t *testing.T, effect session.Effect) *rig {
	r := newRig(t)
	r.configure(strings.ReplaceAll(expandConfig, "EFFECT", string(effect)))
	r.restart()
	r.write("main.go", "package main\n")
	return r
}

// runs is how often the command's line was run.
func (r *rig) runs() int {
	content, err := os.ReadFile(filepath.Join(r.project, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return strings.Count(string(content), "\n")
}

// TestExpandedPromptIsRetried: it is expanded once, whatever has become of the files since;
// the key or the id of another request is a conflict.
func TestExpandedPromptIsRetried(t *testing.T) {
	r := expandRig(t, session.Allow)
	id, hold := r.session(), false
	prompt := protocol.Prompt{PromptBody: protocol.PromptBody{Text: "see @main.go and @gone"}, Expand: true, Resume: &hold}
	admit := func(key string, prompt protocol.Prompt) (protocol.Receipt, error) {
		return promptService{r.backend}.Admit(r.within(), server.Caller{Actor: "token:ann", Key: key}, id, prompt)
	}
	first, err := admit("k", prompt)
	if err != nil || len(first.Prompt.Files) != 1 || len(first.Expanded) != 2 || first.Expanded[0].Kind != "file" || first.Expanded[1].Error == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	r.write("main.go", "package other\n")
	r.restart()
	again, err := admit("k", prompt)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Errorf("a retry: %v %s", err, diff)
	}
	for _, other := range []protocol.Prompt{
		{PromptBody: protocol.PromptBody{Text: "see @main.go"}, Expand: true, Resume: &hold},
		{PromptBody: prompt.PromptBody, Resume: &hold},
		{Command: &protocol.CommandCall{Name: "count"}, Resume: &hold},
	} {
		if _, err := admit("k", other); !errors.Is(err, &protocol.Error{Code: protocol.Conflict}) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	// What mentions nothing is the same with expand and without.
	plain := protocol.Prompt{PromptBody: protocol.PromptBody{Text: "plain"}, Resume: &hold}
	one, err := admit("p", plain)
	plain.Expand = true
	two, errTwo := admit("p", plain)
	if one.ID != two.ID || err != nil || errTwo != nil {
		t.Errorf("%+v, %v, %v", two, err, errTwo)
	}
}

// TestCommandRunsOnce: also when its prompt is sent again at the same time, and later.
func TestCommandRunsOnce(t *testing.T) {
	r := expandRig(t, session.Allow)
	id, hold := r.session(), false
	prompt := protocol.Prompt{ID: r.encoder().IDs.New(session.PrefixMessage), Resume: &hold, Command: &protocol.CommandCall{Name: "count", Arguments: "'a b'"}}
	answers := make(chan error, 8)
	for range cap(answers) {
		go func() {
			receipt, err := promptService{r.backend}.Admit(r.within(), server.Caller{Actor: "token:ann"}, id, prompt)
			if err == nil && receipt.Prompt.Text != "count 2 in a b a b" {
				err = errors.New(receipt.Prompt.Text)
			}
			answers <- err
		}()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if n := r.runs(); n != 1 {
		t.Errorf("the command was run %d times", n)
	}
	if n := r.count(id, is[session.PromptAdmitted]); n != 1 {
		t.Errorf("%d admissions", n)
	}
	prompt.ID, prompt.Agent = "", "nobody"
	if _, err := (promptService{r.backend}).Admit(r.within(), server.Caller{Actor: "token:ann"}, id, prompt); !errors.Is(err, &protocol.Error{Code: protocol.BadRequest}) || r.runs() != 1 {
		t.Errorf("a prompt that is refused ran its command: %v", err)
	}
}

// TestCommandIsAskedFor over HTTP: answered like any other request; a client that goes
// away takes it back and nothing is admitted.
func TestCommandIsAskedFor(t *testing.T) {
	r := expandRig(t, session.Ask)
	id := r.session()
	body := `{"resume":false,"command":{"name":"count","arguments":"x"}}`
	type answered struct {
		status int
		body   []byte
		err    error
	}
	send := func(ctx context.Context) chan answered {
		done := make(chan answered, 1)
		go func() {
			status, body, err := r.try(ctx, request{path: "/v1/sessions/" + id + "/prompts", body: body})
			done <- answered{status, body, err}
		}()
		return done
	}
	ctx, leave := context.WithCancel(r.within())
	gone := send(ctx)
	asked := r.await(id, -1, is[session.PermissionAsked])
	leave()
	<-gone
	withdrawn := r.await(id, asked.Seq, is[session.PermissionReplied])
	if reply := r.decode(withdrawn).(session.PermissionReplied); reply.Reply != session.ReplyWithdrawn {
		t.Errorf("%+v", reply)
	}
	for reply, text := range map[string]string{`{"reply":"once"}`: `"text":"count 2 in x x"`, `{"reply":"reject","message":"not now"}`: "was refused: not now"} {
		done := send(r.within())
		asked = r.await(id, withdrawn.Seq, is[session.PermissionAsked])
		e := r.decode(asked).(session.PermissionAsked)
		if e.Call != session.CallPrompt || e.Message == "" || r.count(id, is[session.PromptAdmitted]) > 1 {
			t.Errorf("%+v", e)
		}
		got[protocol.PermissionReceipt](r, request{path: "/v1/permissions/" + e.Request + "/reply", body: reply})
		answer := <-done
		if answer.err != nil || answer.status != http.StatusAccepted || !strings.Contains(string(answer.body), text) {
			t.Errorf("%s: %d %s, %v", reply, answer.status, answer.body, answer.err)
		}
		withdrawn = r.await(id, asked.Seq, is[session.PromptAdmitted])
	}
	if n := r.runs(); n != 1 {
		t.Errorf("the command was run %d times", n)
	}
}

// TestExpandAdmitsNothing and asks nobody.
func TestExpandAdmitsNothing(t *testing.T) {
	r := expandRig(t, session.Ask)
	id := r.session()
	for body, want := range map[string]string{
		`{"text":"@main.go"}`: `"name":"main.go"`,
		`{"command":{"name":"count","arguments":"@main.go"}}`: "nobody is asked here",
	} {
		expansion := got[protocol.Expansion](r, request{path: "/v1/sessions/" + id + "/expand", body: body})
		encoded, err := protocol.Encode(expansion)
		if err != nil || !strings.Contains(string(encoded), want) {
			t.Errorf("%s: %s, %v", body, encoded, err)
		}
	}
	if n := r.count(id, is[session.PermissionAsked]) + r.count(id, is[session.PromptAdmitted]) + r.runs(); n != 0 {
		t.Errorf("%d things were asked, admitted and run", n)
	}
	p := r.problem(request{path: "/v1/sessions/" + id + "/prompts", body: `{"text":"@gone","expand":true,"strict":true}`})
	if p.Code != protocol.BadRequest || !strings.Contains(p.Detail, "@gone could not be used") {
		t.Errorf("%+v", p)
	}
	p = r.problem(request{path: "/v1/sessions/" + id + "/prompts", body: `{"command":{"name":"other"}}`})
	if p.Code != protocol.BadRequest || !strings.Contains(p.Detail, `there is no command "other"; known are count, init`) {
		t.Errorf("%+v", p)
	}
	list := got[protocol.CommandList](r, request{method: http.MethodGet, path: "/v1/commands"})
	for i := range list.Commands {
		list.Commands[i].Description = strings.TrimSpace(list.Commands[i].Description[:6])
	}
	want := protocol.CommandList{Commands: []protocol.Command{{Name: "count", Source: "config", Description: "Counts"}, {Name: "init", Source: "builtin", Description: "Writes"}}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

// TestReferenceGuidance is told with the first prompt, and taken back when the operator
// has taken the references away.
func TestReferenceGuidance(t *testing.T) {
	r := expandRig(t, session.Allow)
	id := r.session()
	r.settled(id, "count 1")
	initialized := r.decode(r.await(id, -1, is[session.ContextInitialized])).(session.ContextInitialized)
	if !strings.HasSuffix(initialized.Baseline, "\n- docs: system files (/usr)") {
		t.Errorf("%q", initialized.Baseline)
	}
	r.configure("")
	r.restart()
	r.settled(id, "count 1")
	updated := r.decode(r.await(id, -1, is[session.ContextUpdated])).(session.ContextUpdated)
	if !strings.Contains(updated.Text, "There are no references any more") {
		t.Errorf("%+v", updated)
	}
	other := r.session()
	r.settled(other, "count 1")
	initialized = r.decode(r.await(other, -1, is[session.ContextInitialized])).(session.ContextInitialized)
	if strings.Contains(initialized.Baseline, "references") {
		t.Errorf("%q", initialized.Baseline)
	}
}

// TestPeoplesCommands over HTTP and at the terminal, and who may run them.
func TestPeoplesCommands(t *testing.T) {
	r := newRig(t)
	id := r.session()
	path := "/v1/sessions/" + id + "/shell"
	run := got[protocol.ShellRun](r, request{path: path + "?wait=ended", body: `{"command":"cat .env; pwd; exit 3"}`})
	if !run.Ended || run.Exit == nil || *run.Exit != 3 || !strings.HasPrefix(run.Output, "KEY=1\n") || !strings.HasSuffix(run.Output, "/project\n") {
		t.Errorf("%+v", run)
	}
	body := `{"id":"` + r.encoder().IDs.New(session.PrefixMessage) + `","command":"echo x >> runs"}`
	for range 2 {
		got[protocol.ShellRun](r, request{path: path + "?wait=ended", body: body})
	}
	if n := r.runs(); n != 1 {
		t.Errorf("it was run %d times", n)
	}
	out, notes, code := r.terminal("sessions", "shell", id, "--", "printf", "%s|", "a b", "it's")
	if out != "a b|it's|\n" || code != 0 {
		t.Errorf("%d %q %q", code, out, notes)
	}
	if _, notes, code = r.terminal("sessions", "shell", id, "exit 7"); code != exitFailed || !strings.Contains(notes, "the command ended with exit code 7") {
		t.Errorf("%d %q", code, notes)
	}
	running := got[protocol.ShellRun](r, request{path: path, body: `{"command":"echo begun; sleep 1000"}`})
	if running.Ended {
		t.Errorf("%+v", running)
	}
	got[protocol.CommandReceipt](r, request{path: "/v1/sessions/" + id + "/interrupt"})
	messages := got[protocol.MessageList](r, request{method: http.MethodGet, path: "/v1/sessions/" + id + "/messages"}).Messages
	if last := messages[len(messages)-1]; last.ID != running.ID || !strings.HasSuffix(last.Output, "[It was interrupted.]") || last.Exit != nil {
		t.Errorf("%+v", last)
	}
}

// TestWhoMayRunCommands: the owner on the socket and a token with every right, unless the
// operator switched it off.
func TestWhoMayRunCommands(t *testing.T) {
	r := newRig(t)
	r.listen = "127.0.0.1:0"
	r.restart()
	path := "/v1/sessions/" + r.session() + "/shell"
	some := got[protocol.CreatedToken](r, request{path: "/v1/tokens", body: `{"scopes":["session:read","session:write","approve"]}`})
	all := got[protocol.CreatedToken](r, request{path: "/v1/tokens", body: `{"scopes":["admin"]}`})
	refused := func(q request, want string) {
		t.Helper()
		if p := r.problem(q); p.Code != protocol.Forbidden || !strings.Contains(p.Detail, want) {
			t.Errorf("%+v", p)
		}
	}
	byOwner := request{path: path, body: `{"command":"echo"}`}
	bySome, byAll := byOwner, byOwner
	bySome.tcp, bySome.token, byAll.tcp, byAll.token = true, some.Secret, true, all.Secret
	got[protocol.ShellRun](r, byOwner)
	got[protocol.ShellRun](r, byAll)
	refused(bySome, "scope admin")
	r.configure("[shell]\nenabled = false\n")
	r.restart()
	refused(byOwner, "shell.enabled")
	refused(byAll, "shell.enabled")
	refused(bySome, "scope admin")
}

// TestLeftBehindByACrash: a command that ran, and a request for a prompt that was never
// admitted, are closed by the next host.
func TestLeftBehindByACrash(t *testing.T) {
	r := newRig(t)
	id := r.session()
	message := r.encoder().IDs.New(session.PrefixMessage)
	r.record(id, session.ShellStarted{Message: message, Call: message, Command: "sleep 1000"})
	r.record(id, session.PermissionAsked{Request: r.encoder().IDs.New(session.PrefixPermission), Message: message, Call: session.CallPrompt, Agent: "build",
		Ask: session.PermissionRequest{Action: "bash", Resources: []string{"ls"}}})
	r.restart()
	ended := r.decode(r.await(id, -1, is[session.ShellEnded])).(session.ShellEnded)
	if ended.Call != message || ended.Exit != nil {
		t.Errorf("%+v", ended)
	}
	if open := got[protocol.PermissionList](r, request{method: http.MethodGet, path: "/v1/permissions"}); len(open.Permissions) != 0 {
		t.Errorf("%+v", open)
	}
}
