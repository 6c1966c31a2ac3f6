package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/store/sqlite"
	"github.com/plinthhost/plinth/tests/chat"
)

// annals is a host whose sessions are condensed, forked, reverted, pruned, removed and
// backed up, and which is killed while it does so.
type annals struct {
	*world
	model  *chat.Server
	host   *host
	random *rand.Rand
	took   map[string]time.Duration // how long each command takes that nobody kills
	midway int                      // commands that were not answered
}

// summary begins what the model writes in the place of a history.
const summary = "SUMMARY"

// newAnnals starts the host, in a git work tree.
func newAnnals(t *testing.T, more string) *annals {
	t.Helper()
	a := &annals{world: newWorld(t), random: rand.New(rand.NewPCG(seedOf(*recoverySeed, t.Name()), 2)), took: map[string]time.Duration{}}
	git := exec.CommandContext(t.Context(), "git", "init", "--quiet", a.project)
	git.Env = a.environ
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var err error
	if a.model, err = chat.Start(a.answer, chat.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.model.Close() })
	a.asking("http://127.0.0.1:1")
	a.write("config/plinth/config.toml", fmt.Sprintf(`model = "local/test"
[titles]
enabled = false
[providers.local]
plugin = "core/openai"
base_url = %q
[plugins]
development = true
folders = [%q]
[runner]
recovery = "resume"
shutdown_grace_ms = 200
[permissions]
rules = [{ action = "*", resource = "*", effect = "allow" }]
%s`, a.model.URL, filepath.Join(a.folder, "plugins"), more))
	a.host = a.serve()
	return a
}

// answer is what the model says. A request without tools is for a summary; "[write N]"
// in a prompt writes the files, "[child]" gives a task to a child session.
func (a *annals) answer(request chat.Request) chat.Turn {
	last := request.Messages[len(request.Messages)-1]
	turn := chat.Turn{Text: "Done.", Deltas: 3, Delay: time.Millisecond}
	call := func(operation string, input object) {
		arguments, _ := json.Marshal(object{"op": operation, "request": input})
		turn.Calls = []chat.ToolCall{{ID: fmt.Sprint("call-", len(request.Messages)), Name: "ask", Arguments: string(arguments)}}
	}
	var version int
	_, at, marked := strings.Cut(last.Content, "[write ")
	switch {
	case len(request.Tools) == 0:
		turn = chat.Turn{Text: summary + " of what was said.", Deltas: 10, Delay: 2 * time.Millisecond}
	case last.Role != "user":
	case marked:
		fmt.Sscan(at, &version)
		call(abi.OpProcessRun, object{"command": fmt.Sprintf(`mkdir -p src/0 src/1 src/2; i=0; while [ $i -lt %d ]; do yes "version %d of file $i" | head -n %d > src/$((i %% 3))/file$i.txt; i=$((i + 1)); done`,
			files, version, fileLines)})
	case strings.Contains(last.Content, "[child]"):
		call(abi.OpTaskRun, object{"agent": "general", "description": "a part", "prompt": "Do a part of it."})
	}
	return turn
}

// A write writes so many files, of so many lines.
const (
	files     = 24
	fileLines = 400
)

func fileName(i int) string { return fmt.Sprintf("src/%d/file%d.txt", i%3, i) }

func fileText(version, i int) string {
	return strings.Repeat(fmt.Sprintf("version %d of file %d\n", version, i), fileLines)
}

// within is the time that commands of a test have.
func (a *annals) within() context.Context {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	a.t.Cleanup(cancel)
	return ctx
}

// say sends a prompt, waits until the work on it is done and answers its receipt.
func (a *annals) say(id, text string) protocol.Receipt {
	a.t.Helper()
	answer, err := a.host.client.PromptAndWait(a.within(), id, protocol.Prompt{Delivery: protocol.Queue, PromptBody: protocol.PromptBody{Text: text}})
	if err != nil || answer.Result == nil || answer.Result.Outcome != protocol.OutcomeCompleted {
		a.t.Fatalf("%.60s: %+v, %v\n%s", text, answer.Result, err, a.host.notes)
	}
	return answer.Receipt
}

// grown makes a session with so many prompts of some length, "mark 0" and on.
func (a *annals) grown(prompts, length int) string {
	a.t.Helper()
	id := a.host.session(a.world)
	for i := range prompts {
		a.say(id, fmt.Sprintf("mark %d. %s", i, strings.Repeat("word ", length/5)))
	}
	return id
}

// sent is what the model was sent last in a session, other than for a summary: the
// messages. The prompt's text finds it.
func (a *annals) sent(prompt string) []chat.Message {
	a.t.Helper()
	for _, request := range slices.Backward(a.model.Requests()) {
		if len(request.Tools) > 0 && strings.Contains(request.LastUser(), prompt) {
			return request.Messages
		}
	}
	a.t.Fatalf("the model was not sent %q", prompt)
	return nil
}

// compact condenses a session, and answers when that has come out.
func (a *annals) compact(ctx context.Context, id string) error {
	receipt, err := a.host.client.Compact(ctx, id)
	if err != nil {
		return err
	}
	options := client.FollowOptions{After: receipt.Cursor, Types: []string{"session.compaction.ended", "session.compaction.failed"}}
	for update, err := range a.host.client.Follow(ctx, id, options) {
		if err != nil {
			return err
		}
		if update.Event != nil {
			return nil
		}
	}
	return ctx.Err()
}

// events are all that can be read of a session.
func (a *annals) events(id string) (all []protocol.Event) {
	a.t.Helper()
	for after := ""; ; {
		page, err := a.host.client.Events(a.within(), id, after, 500)
		if err != nil {
			a.t.Fatal(err)
		}
		all = append(all, page.Events...)
		if after = page.Cursor; !page.More {
			return all
		}
	}
}

// deed is something that the host is killed over.
type deed struct {
	name    string
	watched string      // a session that has events of it
	sight   func() bool // something that is seen of it on the disk
	do      func(ctx context.Context) error
}

// dies carries the deed out and kills the host meanwhile: at a random instant, when a
// client has seen one of the first events of it, or when its sight is seen. The first
// deed of a name is left alone and measured. It answers the deed's error: none says
// that it was done before.
func (a *annals) dies(d deed) error {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.within())
	defer cancel()
	begun := time.Now()
	if a.took[d.name] == 0 {
		if err := d.do(ctx); err != nil {
			a.t.Fatalf("%s: %v\n%s", d.name, err, a.host.notes)
		}
		a.took[d.name] = time.Since(begun)
		a.host.kill()
		return nil
	}
	deadly := make(chan struct{})
	defer a.lurk(ctx, d, deadly)()
	done := make(chan error, 1)
	begun = time.Now()
	go func() { done <- d.do(ctx) }()
	select {
	case <-deadly:
		a.host.kill()
		cancel()
		err := <-done
		if err != nil {
			a.midway++
		}
		return err
	case err := <-done:
		a.took[d.name] = min(a.took[d.name], time.Since(begun))
		a.host.kill()
		return err
	}
}

// lurk closes deadly at one of the instants to die at, unless it is told to stop.
func (a *annals) lurk(ctx context.Context, d deed, deadly chan<- struct{}) (stop func()) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var lurking sync.WaitGroup
	switch way := a.random.IntN(3); {
	case way == 0 && d.watched != "":
		head, err := a.host.client.Session(ctx, d.watched)
		if err != nil {
			a.t.Fatal(err)
		}
		live, events := make(chan struct{}), 1+a.random.IntN(3)
		lurking.Go(func() { a.watch(ctx, d.watched, head.Cursor, events, live, deadly) })
		<-live
	case way != 2 && d.sight != nil:
		lurking.Go(func() { look(ctx, d.sight, deadly) })
	default:
		after := time.NewTimer(time.Duration(a.random.Int64N(int64(a.took[d.name]))))
		lurking.Go(func() {
			defer after.Stop()
			select {
			case <-after.C:
				close(deadly)
			case <-ctx.Done():
			}
		})
	}
	return func() { cancel(); lurking.Wait() }
}

// look says when something is seen.
func look(ctx context.Context, sight func() bool, seen chan<- struct{}) {
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if sight() {
				close(seen)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// watch follows a session and says when it has had so many more events, and before that
// when it follows.
func (a *annals) watch(ctx context.Context, id, cursor string, events int, live, deadly chan<- struct{}) {
	followed := false
	defer func() {
		if !followed {
			close(live)
		}
	}()
	for update, err := range a.host.client.Follow(ctx, id, client.FollowOptions{After: cursor}) {
		if !followed && (update.Live || err != nil) {
			followed = true
			close(live)
		}
		if err != nil {
			return
		}
		if update.Event != nil {
			if events--; events == 0 {
				close(deadly)
				return
			}
		}
	}
}

// reborn has the doctor look at what the dead host left, and starts another.
func (a *annals) reborn() {
	a.t.Helper()
	a.healthy(a.copied())
	a.host = a.serve()
}

// copied copies the data folder's store, so that the next host finds it as it is.
func (a *annals) copied() string {
	a.t.Helper()
	from, to := filepath.Join(a.folder, "data/plinth"), a.t.TempDir()
	if err := os.Chmod(to, 0o700); err != nil {
		a.t.Fatal(err)
	}
	for _, name := range []string{"plinth.db", "plinth.db-wal"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(to, "blobs"), os.DirFS(filepath.Join(from, "blobs"))); err != nil {
		a.t.Fatal(err)
	}
	return to
}

// checked is what the doctor says.
type checked struct {
	Healthy     bool
	Integrity   []string
	Differences []json.RawMessage
	Audited     int
	Store       sqlite.Inspection
}

// healthy has the doctor look at a data folder that no host uses.
func (a *annals) healthy(data string) checked {
	a.t.Helper()
	out, notes, code := a.plinth("--data", data, "doctor", "--deep", "--json", "--sample", "1000")
	var found checked
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 || !found.Healthy || len(found.Integrity)+len(found.Differences) > 0 {
		a.t.Errorf("the doctor exits with %d, %v\n%s\n%s", code, err, out, notes)
	}
	return found
}

// isCode reports whether the host answered with one of the codes.
func isCode(err error, codes ...protocol.Code) bool {
	wire, ok := errors.AsType[*protocol.Error](err)
	for _, code := range codes {
		if ok && wire.Code == code {
			return true
		}
	}
	return false
}
