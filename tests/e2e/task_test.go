package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/chat"
)

// make verify-long raises the first.
var (
	taskKills = flag.Int("task-kills", 4, "times that TestTaskOfSixtyTurns kills the host")
	taskSeed  = flag.Uint64("task-seed", 20261122, "of the random numbers of TestTaskOfSixtyTurns")
)

// A model works on a copy of a published module over six prompts and sixty turns: it
// explores, edits, patches, runs the tests, errs, asks and is refused, and its history
// is condensed on the way. Every time the same comes out, also when the host is killed
// in the middle: nothing is lost and nothing done twice.
func TestTaskOfSixtyTurns(t *testing.T) {
	t.Parallel()
	var first, second, killed outcome
	t.Run("runs", func(t *testing.T) {
		t.Run("first", func(t *testing.T) { t.Parallel(); first = newTask(t).run(0) })
		t.Run("second", func(t *testing.T) { t.Parallel(); second = newTask(t).run(0) })
		t.Run("killed", func(t *testing.T) { t.Parallel(); killed = newTask(t).run(*taskKills) })
	})
	if t.Failed() {
		return
	}
	if first.turns < 60 || first.summaries < 2 {
		t.Errorf("it took %d turns and %d compactions, and is to take 60 and 2", first.turns, first.summaries)
	}
	if diff := cmp.Diff(first.calls, second.calls); diff != "" {
		t.Errorf("the second time other calls are made, or come out differently: %s", diff)
	}
	for name, other := range map[string]outcome{"the second time": second, "with a host that is killed": killed} {
		if diff := cmp.Diff(first.tree, other.tree); diff != "" {
			t.Errorf("the files are others %s: %s", name, diff)
		}
		if diff := cmp.Diff(first.journal, other.journal); diff != "" {
			t.Errorf("other commands ran %s: %s", name, diff)
		}
	}
	if killed.kills != *taskKills {
		t.Errorf("the host was killed %d times instead of %d", killed.kills, *taskKills)
	}
}

// task is a host that is given one.
type task struct {
	*annals
	people *client.Client
	audit  *audit
	sent   []protocol.Receipt // of the prompts
	names  map[callID]string  // of the tools that were called
	wrote  map[string]string  // the answers in which calls have changed files, by call
	out    outcome
}

// newTask copies the module and starts a host.
func newTask(t *testing.T) *task {
	t.Helper()
	k := &task{annals: &annals{world: newWorld(t), random: rand.New(rand.NewPCG(seedOf(*taskSeed, t.Name()), 3))},
		names: map[callID]string{}, wrote: map[string]string{}}
	k.clone()
	k.world.write("outside/secret.txt", "not for the model\n")
	var err error
	if k.model, err = chat.Start(performer{taskScript(filepath.Join(k.folder, "outside/secret.txt"))}.answer, chat.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.model.Close() })
	k.world.write("config/plinth/config.toml", configuration(k.model)+`[models."local/test"]
context = 12000
[process]
inherit = ["GOFLAGS", "GOPROXY"]
[runner]
recovery = "resume"
shutdown_grace_ms = 200
[permissions]
rules = [
	{ action = "edit", resource = "*", effect = "ask" },
	{ action = "bash", resource = "*", effect = "ask" },
	{ action = "bash", resource = "echo *", effect = "allow" },
	{ action = "bash", resource = "grep *", effect = "allow" },
	{ action = "bash", resource = "test *", effect = "allow" },
	{ action = "bash", resource = "true", effect = "allow" },
	{ action = "external_directory", resource = "*/outside/*", effect = "deny" },
]
`)
	k.host = k.serve()
	k.people, err = client.Dial(t.Context(), client.Options{Address: "unix:" + k.socket(), Name: "people",
		Backoff: client.Backoff{First: 10 * time.Millisecond, Max: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.people.Close)
	return k
}

// clone puts a module that Plinth stands on into the project, as a git work tree, and
// lets commands use the toolchain's caches of whoever runs the test.
func (k *task) clone() {
	k.t.Helper()
	var module struct{ Dir string }
	var caches map[string]string
	k.json(&module, "mod", "download", "-json", "github.com/mfridman/interpolate@v0.0.2")
	k.json(&caches, "env", "-json", "GOCACHE", "GOMODCACHE")
	for name, folder := range caches {
		k.environ = append(k.environ, name+"="+folder)
	}
	k.environ = append(k.environ, "GOFLAGS=-trimpath", "GOPROXY=off", "GOTOOLCHAIN=local")
	if err := os.RemoveAll(k.project); err != nil {
		k.t.Fatal(err)
	}
	if err := os.CopyFS(k.project, os.DirFS(module.Dir)); err != nil {
		k.t.Fatal(err)
	}
	k.exec("git", "init", "--quiet")
	k.exec("git", "add", ".")
	k.exec("git", "-c", "user.name=e2e", "-c", "user.email=e2e@example.test", "commit", "--quiet", "-m", "as it was")
}

// json reads what the go command says.
func (k *task) json(value any, args ...string) {
	k.t.Helper()
	out, err := exec.CommandContext(k.t.Context(), "go", args...).Output()
	if err == nil {
		err = json.Unmarshal(out, value)
	}
	if err != nil {
		k.t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

// command runs one in the project, in the host's environment.
func (k *task) exec(name string, args ...string) {
	k.t.Helper()
	command := exec.CommandContext(k.t.Context(), name, args...)
	command.Dir, command.Env = k.project, k.environ
	if out, err := command.CombinedOutput(); err != nil {
		k.t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}

// run gives the host the prompts, one after the other, answers what it asks, and kills
// it so many times.
func (k *task) run(kills int) outcome {
	k.t.Helper()
	ctx, cancel := context.WithCancelCause(k.t.Context())
	defer cancel(nil)
	quiet := time.AfterFunc(3*patience, func() { cancel(errors.New("nothing happens any more")) }) // a toolchain without caches is slow
	defer quiet.Stop()
	id := k.host.session(k.world)
	k.audit = newAudit(id, session.RecoverResume)
	k.prompt(ctx)
	deadly := k.deaths(kills)
	for update, err := range k.people.Follow(ctx, id, client.FollowOptions{}) {
		if err != nil {
			k.t.Fatalf("%v after %d prompts\n%s\n%s", err, len(k.sent), strings.Join(k.out.calls, "\n"), k.host.notes)
		}
		if update.Event == nil {
			continue
		}
		quiet.Reset(3 * patience)
		k.event(ctx, *update.Event)
		if len(deadly) > 0 && deadly[0].due(k.audit) {
			k.die(deadly[0].delay)
			deadly = deadly[1:]
		}
		if k.over() {
			break
		}
	}
	k.finish()
	return k.out
}

// over: all prompts were sent, have come back as events, and are worked on no more.
func (k *task) over() bool {
	return len(k.sent) == len(taskPrompts) && int64(len(k.audit.ids)) > k.sent[len(k.sent)-1].AdmittedSeq && k.audit.rest()
}

// death is when the host is killed: after so many events, once the newest is a call or
// an answer of the user's if that is what it waits for, and then some time.
type death struct {
	after int
	call  bool
	delay time.Duration
}

// due reports whether the time has come.
func (d death) due(audit *audit) bool {
	if len(audit.ids) < d.after || !d.call {
		return len(audit.ids) >= d.after
	}
	switch audit.previous.(type) {
	case session.ToolCalled, session.PermissionReplied:
		return true
	}
	return false
}

// deaths are spread over the task. Every other one comes over a call.
func (k *task) deaths(n int) []death {
	const events = 450 // fewer than the task has
	all := make([]death, n)
	for i := range all {
		all[i] = death{after: 1 + (events*i+k.random.IntN(events))/n, call: i%2 == 0}
		longest := 150 * time.Millisecond
		if all[i].call {
			longest = 40 * time.Millisecond // or the call is over
		}
		all[i].delay = time.Duration(k.random.Int64N(int64(longest)))
	}
	return all
}

// die kills the host after a while, has the doctor look at what it left, and starts
// another.
func (k *task) die(after time.Duration) {
	k.t.Helper()
	timer := time.NewTimer(after)
	defer timer.Stop()
	<-timer.C
	k.host.kill()
	k.out.kills++
	k.reborn()
}

func (k *task) prompt(ctx context.Context) {
	k.t.Helper()
	receipt, err := k.host.client.Prompt(ctx, k.audit.id, protocol.Prompt{Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: taskPrompts[len(k.sent)]}})
	if err != nil {
		k.t.Fatal(err)
	}
	k.sent = append(k.sent, receipt)
}

// event reads one and does what people do about it.
func (k *task) event(ctx context.Context, event protocol.Event) {
	k.t.Helper()
	k.audit.take(store.Event{ID: event.ID, Aggregate: event.Session, Seq: event.Seq, Type: event.Type, Version: event.Version, Time: event.Time, Data: event.Data})
	var err error
	switch e := k.audit.previous.(type) {
	case session.TextEnded:
		if strings.HasPrefix(e.Text, "Unexpected") {
			k.t.Fatal(e.Text)
		}
	case session.TurnStarted:
		k.out.turns++
	case session.CompactionEnded:
		k.out.summaries++
	case session.ResultsPruned:
		k.out.prunings++
	case session.ToolCalled:
		k.names[callID{e.Message, e.Call}] = e.Name
	case session.ToolSucceeded:
		k.settled(e.Message, e.Call, came(e))
	case session.ToolFailed:
		k.settled(e.Message, e.Call, e.Error.Kind)
	case session.PermissionAsked:
		reply := k.decision(e)
		k.out.calls = append(k.out.calls, fmt.Sprintf("%s asks %s on %q: %s", e.Call, e.Ask.Action, e.Ask.Resources, reply.Reply))
		_, err = k.host.client.Reply(ctx, e.Request, reply)
	case session.QuestionAsked:
		_, err = k.host.client.Answer(ctx, e.Request, protocol.QuestionAnswer{Answers: [][]string{{"comments"}}})
	case session.ActivityEnded:
		switch {
		case e.Outcome != session.Completed:
			_, err = k.host.client.Resume(ctx, k.audit.id)
		case len(k.sent) < len(taskPrompts):
			k.prompt(ctx)
		}
	}
	// A host that came back may have withdrawn what the one before had asked.
	if err != nil && (k.out.kills == 0 || !isCode(err, protocol.AlreadyResolved, protocol.NotFound)) {
		k.t.Fatal(err)
	}
}

// decision is what the user says to a request. What was allowed for good is not asked
// again.
func (k *task) decision(asked session.PermissionAsked) protocol.PermissionReply {
	k.t.Helper()
	at := place{}
	if found := stepOfCall.FindStringSubmatch(asked.Call); found != nil {
		at = placeOf(found[1:])
	}
	switch at {
	case place{2, 7}, place{5, 4}: // go vet, and the README
		return protocol.PermissionReply{Reply: protocol.AnswerAlways}
	case place{3, 4}, place{4, 7}, place{5, 7}, place{6, 4}, place{5, 5}:
		k.t.Errorf("%s asks for %s on %q, which was allowed for good", asked.Call, asked.Ask.Action, asked.Ask.Resources)
	case place{4, 3}:
		return protocol.PermissionReply{Reply: protocol.AnswerReject, Message: feedback}
	}
	return protocol.PermissionReply{Reply: protocol.AnswerOnce}
}

// stepOfCall finds the step in a call's id.
var stepOfCall = regexp.MustCompile(`^call-p(\d)-s(\d\d)-`)
