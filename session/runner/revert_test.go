package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// disk is the files of a place, with the states of them that were named. It outlives the
// kernels of a test.
type disk struct {
	mu    sync.Mutex
	files map[string]string
	taken map[string]map[string]string
	// breaks is after how many files a restore breaks off; -1 for never.
	breaks int
	// stuck are paths that cannot be restored.
	stuck []string
}

func newDisk(files map[string]string) *disk {
	return &disk{files: files, taken: map[string]map[string]string{}, breaks: -1}
}

func (d *disk) write(path, content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[path] = content
}

func (d *disk) now() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.files)
}

func (d *disk) Capture(context.Context, session.Location) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := "tree"
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		name += " " + path + "=" + d.files[path]
	}
	d.taken[name] = maps.Clone(d.files)
	return name, nil
}

func (d *disk) Diff(_ context.Context, _ session.Location, from, to string) (files []session.FileDiff, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken[from] == nil || d.taken[to] == nil {
		return nil, session.ErrNoSnapshot
	}
	return differences(d.taken[from], d.taken[to]), nil
}

func differences(from, to map[string]string) (files []session.FileDiff) {
	paths := maps.Clone(from)
	maps.Copy(paths, to)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		before, was := from[path]
		after, is := to[path]
		if was != is || before != after {
			files = append(files, session.FileDiff{Path: path, Additions: len(after), Deletions: len(before)})
		}
	}
	return files
}

func (d *disk) Restore(_ context.Context, _ session.Location, snapshot string, paths []string) (restored session.Restored, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	target := d.taken[snapshot]
	if target == nil {
		return restored, session.ErrNoSnapshot
	}
	for _, file := range differences(d.files, target) {
		if paths != nil && !slices.Contains(paths, file.Path) {
			continue
		}
		if d.breaks == 0 {
			return restored, errors.New("the disk broke")
		}
		if slices.Contains(d.stuck, file.Path) {
			restored.Left = append(restored.Left, file.Path)
			continue
		}
		d.breaks--
		if content, is := target[file.Path]; is {
			d.files[file.Path] = content
		} else {
			delete(d.files, file.Path)
		}
		restored.Files = append(restored.Files, file)
	}
	return restored, nil
}

// writes is a tool that writes "PATH CONTENT" pairs of its input.
func writes(w *World, d *disk) {
	w.Contribute("core/tools", tool(w, "write", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		fields := strings.Fields(strings.Trim(string(call.Input), `{}":`))
		for i := 0; i+1 < len(fields); i += 2 {
			d.write(fields[i], fields[i+1])
		}
		return Output("written"), nil
	}))
}

// worked is a session in which two prompts changed files, and a person one in between.
func worked(t *testing.T, d *disk) (*World, string) {
	t.Helper()
	w := New(t, Options{Snapshots: d})
	writes(w, d)
	id := w.Create()
	w.Provider.Script(Calls("write", `{" a 1 b 1 ":0}`), Say("First done"))
	w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	d.write("mine", "own")
	w.Provider.Script(Calls("write", `{" a 2 c 2 ":0}`), Say("Second done"))
	w.Prompt(id, "second", session.Steer)
	w.Settled(id, 2)
	return w, id
}

func transcript(messages []session.Message) (all []string) {
	for _, m := range messages {
		text := m.Text
		if m.Prompt != nil {
			text = m.Prompt.Text
		}
		for _, part := range m.Parts {
			text += part.Text
		}
		all = append(all, strings.TrimSpace(string(m.Type)+" "+text))
	}
	return all
}

func messageOf(t *testing.T, w *World, id, text string) session.Message {
	t.Helper()
	for i, one := range transcript(w.Messages(id)) {
		if strings.HasSuffix(one, text) {
			return w.Messages(id)[i]
		}
	}
	t.Fatalf("no message %q in %v", text, transcript(w.Messages(id)))
	return session.Message{}
}

func revert(t *testing.T, w *World, id, text string, files bool) session.Session {
	t.Helper()
	s, err := w.Sessions.Revert(t.Context(), session.System(), session.RevertRequest{Session: id, Message: messageOf(t, w, id, text).ID, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantFiles(t *testing.T, d *disk, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, d.now()); diff != "" {
		t.Errorf("files: %s", diff)
	}
}

func list(all ...string) []string { return all }

var (
	untouched   = map[string]string{"a": "0", "keep": "0"}
	afterFirst  = map[string]string{"a": "1", "b": "1", "keep": "0", "mine": "own"}
	afterSecond = map[string]string{"a": "2", "b": "1", "c": "2", "keep": "0", "mine": "own"}
)

func TestRevertIsStagedAndThenCommittedByTheNextPrompt(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	s := revert(t, w, id, "second", true)
	wantFiles(t, d, afterFirst)
	want := []session.FileDiff{{Path: "a", Additions: 1, Deletions: 1}, {Path: "c", Deletions: 1}}
	if r := s.Revert; r == nil || r.Restoring || r.Snapshot == "" || !cmp.Equal(want, r.Files) {
		t.Errorf("staged %+v", s.Revert)
	}
	if got := len(w.Messages(id)); got != 6 {
		t.Errorf("%d messages before it is committed", got)
	}
	w.Provider.Script(Say("Third done"))
	w.Prompt(id, "third", session.Steer)
	events := w.Settled(id, 3)
	if diff := cmp.Diff(list("user first", "assistant", "assistant First done", "user third", "assistant Third done"), transcript(w.Messages(id))); diff != "" {
		t.Error(diff)
	}
	var types []string
	for _, event := range events[slices.IndexFunc(events, func(e store.Event) bool { return e.Type == "session.revert.committed" }):] {
		types = append(types, strings.TrimPrefix(event.Type, "session."))
	}
	if diff := cmp.Diff(list("revert.committed", "activity.started", "context.initialized", "prompt.promoted", "turn.started"), types[:5]); diff != "" {
		t.Error(diff)
	}
	requests := w.Provider.Requests()
	var sent []string
	for _, message := range requests[len(requests)-1].Messages {
		if message.Role == session.RoleUser {
			sent = append(sent, message.Parts[0].Text)
		}
	}
	if diff := cmp.Diff(list("first", "third"), sent); diff != "" {
		t.Error(diff)
	}
	wantFiles(t, d, afterFirst)
}

func TestRevertToAnAssistantsMessageKeepsThePrompt(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	step := w.Messages(id)[1]
	s, err := w.Sessions.Revert(t.Context(), session.System(), session.RevertRequest{Session: id, Message: step.ID, Files: true})
	if err != nil || s.Revert.Boundary != w.Messages(id)[0].Seq {
		t.Fatalf("%+v, %v", s.Revert, err)
	}
	wantFiles(t, d, map[string]string{"a": "0", "keep": "0", "mine": "own"}) // a person's own stays
	w.Provider.Script(Say("Again"))
	w.Run(id) // a resume commits too
	if diff := cmp.Diff(list("user first", "assistant Again"), transcript(w.Messages(id))); diff != "" {
		t.Error(diff)
	}
}

func TestRevertCanBeMovedAndCleared(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	revert(t, w, id, "second", true)
	wantFiles(t, d, afterFirst)
	s := revert(t, w, id, "first", true)
	wantFiles(t, d, map[string]string{"a": "0", "keep": "0", "mine": "own"})
	if s.Changes == nil || s.Changes.Total != 1 || s.Changes.Files[0].Path != "mine" {
		t.Errorf("changes %+v", s.Changes)
	}
	again := revert(t, w, id, "first", true) // a retry
	if diff := cmp.Diff(s, again); diff != "" {
		t.Error(diff)
	}
	s = revert(t, w, id, "second", false)
	wantFiles(t, d, afterSecond)
	if s.Revert.Snapshot != "" || s.Revert.Files != nil {
		t.Errorf("without files: %+v", s.Revert)
	}
	revert(t, w, id, "first", true)
	d.write("keep", "edited")
	s, err := w.Sessions.ClearRevert(t.Context(), session.System(), id)
	if err != nil || s.Revert != nil {
		t.Errorf("%+v, %v", s.Revert, err)
	}
	want := maps.Clone(afterSecond)
	want["keep"] = "edited"
	wantFiles(t, d, want)
	if got := len(w.Messages(id)); got != 6 {
		t.Errorf("%d messages after it was cleared", got)
	}
	for name, command := range map[string]func(context.Context, session.Origin, string) (session.Session, error){
		"clear": w.Sessions.ClearRevert, "commit": w.Sessions.CommitRevert} {
		_, err := command(t.Context(), session.System(), id)
		if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "has no revert staged") {
			t.Errorf("%s of none: %v", name, err)
		}
	}
}

// A restored or imported store has no snapshots: what was staged cannot be cleared there,
// but commits, and gives way to a revert without files.
func TestAStagedRevertWhoseFilesAreNotKept(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	staged := revert(t, w, id, "second", true)
	clear(d.taken)
	_, err := w.Sessions.ClearRevert(t.Context(), session.System(), id)
	if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "without files") {
		t.Errorf("clear: %v", err)
	}
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(staged.Revert, s.Revert); diff != "" {
		t.Errorf("a refused clearing changed it: %s", diff)
	}
	if s = revert(t, w, id, "second", false); s.Revert == nil || s.Revert.Target != "" {
		t.Errorf("without files: %+v", s.Revert)
	}
	if s, err = w.Sessions.ClearRevert(t.Context(), session.System(), id); err != nil || s.Revert != nil {
		t.Errorf("%+v, %v", s.Revert, err)
	}
	wantFiles(t, d, afterFirst)
	revert(t, w, id, "first", false)
	if _, err := w.Sessions.CommitRevert(t.Context(), session.System(), id); err != nil {
		t.Error(err)
	}
}

func TestAStagedRevertOfFilesKeepsTheSessionInItsPlace(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	revert(t, w, id, "second", true)
	elsewhere := t.TempDir()
	_, err := w.Sessions.Move(t.Context(), session.System(), id, elsewhere)
	if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "has a revert staged") {
		t.Errorf("move: %v", err)
	}
	if _, err := w.Sessions.ClearRevert(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, d, afterSecond)
	if s, err := w.Sessions.Move(t.Context(), session.System(), id, elsewhere); err != nil || s.Location.Root != elsewhere {
		t.Errorf("%+v, %v", s.Location, err)
	}
}

func TestRevertCommittedByItself(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	waiting := w.Admit(id, "waits", session.Queue)
	revert(t, w, id, "first", true)
	s, err := w.Sessions.CommitRevert(t.Context(), session.System(), id)
	if err != nil || s.Revert != nil {
		t.Fatalf("%+v, %v", s.Revert, err)
	}
	if got := w.Messages(id); len(got) != 0 {
		t.Errorf("left %v", transcript(got))
	}
	pending, err := w.Sessions.Inbox(t.Context(), id)
	if err != nil || len(pending) != 1 || pending[0].ID != waiting.ID {
		t.Errorf("pending %v, %v", pending, err)
	}
}

func TestWhatCannotBeReverted(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	try := func(message string, files bool) error {
		_, err := w.Sessions.Revert(t.Context(), session.System(), session.RevertRequest{Session: id, Message: message, Files: files})
		return err
	}
	if err := try("msg_none", true); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	note, err := w.Sessions.Synthetic(t.Context(), session.System(), session.SyntheticRequest{Session: id, Text: "note"})
	if err != nil {
		t.Fatal(err)
	}
	if err := try(note, true); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "of the type synthetic") {
		t.Error(err)
	}
	first := messageOf(t, w, id, "first").ID
	clear(d.taken) // pruned
	if err := try(first, true); err == nil || !strings.Contains(err.Error(), "stage it again without files (--no-files)") {
		t.Error(err)
	}
	if s, err := w.Sessions.Get(t.Context(), id); err != nil || s.Revert != nil {
		t.Errorf("a revert that was refused left %+v, %v", s.Revert, err)
	}
	if err := try(first, false); err != nil {
		t.Error(err)
	}
	_, err = w.Sessions.Synthetic(t.Context(), session.System(), session.SyntheticRequest{Session: id, Text: "unseen"})
	if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "has a revert staged") {
		t.Errorf("a message while one is staged: %v", err)
	}
}

// A session that works cannot be reverted, and one that is about to begin either does
// not see the revert and is refused, or commits it.
func TestRevertOfASessionThatWorks(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	first := messageOf(t, w, id, "first").ID
	started, release := make(chan struct{}), make(chan struct{})
	w.Contribute("core/tools", tool(w, "write", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		close(started)
		<-release
		return Output("ok"), nil
	}))
	w.Provider.Script(Calls("write", `{}`), Say("Done"))
	w.Prompt(id, "third", session.Steer)
	<-started
	_, err := w.Sessions.Revert(t.Context(), session.System(), session.RevertRequest{Session: id, Message: first, Files: true})
	if conflict, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "needs an idle session; interrupt it, or wait") {
		t.Errorf("%v", err)
	}
	wantFiles(t, d, afterSecond)
	close(release)
	w.Settled(id, 3)
}

// The history follows a revert to before a compaction.
func TestRevertToBeforeACompaction(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	second := messageOf(t, w, id, "second")
	events, err := w.Encoder.Encode(session.System(), session.CompactionEnded{Message: "msg_summary", Reason: session.CompactionManual,
		Summary: "all of it", Boundary: second.Seq})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Log.Append(t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
		t.Fatal(err)
	}
	revert(t, w, id, "second", true)
	w.Provider.Script(Say("Third done"))
	w.Prompt(id, "third", session.Steer)
	w.Settled(id, 3)
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil || s.Compaction != -1 || s.History != -1 {
		t.Errorf("compaction %d, history %d, %v", s.Compaction, s.History, err)
	}
	requests := w.Provider.Requests()
	if text := requests[len(requests)-1].Messages[0].Parts[0].Text; text != "first" {
		t.Errorf("the request begins with %q", text)
	}
}

// An interrupted step that changed files counts, and so does one that a crash left open.
func TestRevertOfStepsThatBrokeOff(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w := New(t, Options{Snapshots: d})
	started := make(chan struct{})
	w.Contribute("core/tools", tool(w, "write", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		d.write("a", "half")
		close(started)
		<-ctx.Done()
		return session.ToolOutput{}, context.Cause(ctx)
	}))
	id := w.Create()
	w.Provider.Script(Calls("write", `{}`))
	w.Prompt(id, "first", session.Steer)
	<-started
	if _, err := w.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	step := assistants(w, id)[0]
	if step.Error == nil || len(step.Files) != 1 || step.Files[0].Path != "a" {
		t.Errorf("the step failed with %v and %v", step.Error, step.Files)
	}
	page, err := w.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	revert(t, w, id, "first", true)
	wantFiles(t, d, untouched)

	d.write("a", "half")
	called := slices.IndexFunc(page.Events, func(e store.Event) bool { return e.Type == "session.tool.called" })
	crashed := New(t, Options{Snapshots: d})
	if err := crashed.Log.Replay(t.Context(), page.Events[:called+1], store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := crashed.Runner.Recover(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := crashed.Sessions.Interrupt(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	revert(t, crashed, id, "first", true)
	wantFiles(t, d, untouched)
}

func TestARestoreThatFailsIsPutBack(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	request := session.RevertRequest{Session: id, Message: messageOf(t, w, id, "first").ID, Files: true}
	failing := &failsOnce{disk: d}
	second := New(t, Options{Snapshots: failing})
	copySession(t, w, second, id)
	_, err := second.Sessions.Revert(t.Context(), session.System(), request)
	if err == nil || !strings.Contains(err.Error(), "the disk broke") {
		t.Fatal(err)
	}
	wantFiles(t, d, afterSecond)
	if s, err := second.Sessions.Get(t.Context(), id); err != nil || s.Revert != nil {
		t.Errorf("%+v, %v", s.Revert, err)
	}
}

// failsOnce breaks its first restore off after one file.
type failsOnce struct {
	*disk
	once sync.Once
}

func (f *failsOnce) Restore(ctx context.Context, location session.Location, snapshot string, paths []string) (session.Restored, error) {
	f.once.Do(func() { f.breaks = 1 })
	restored, err := f.disk.Restore(ctx, location, snapshot, paths)
	f.breaks = -1
	return restored, err
}

func copySession(t *testing.T, from, to *World, id string) {
	t.Helper()
	page, err := from.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Log.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
}

// killed is a process that dies in the middle of a restore: what it was about to
// append then is never appended.
type killed struct {
	*disk
	after int
}

var errKilled = errors.New("killed")

func (k killed) Restore(ctx context.Context, location session.Location, snapshot string, paths []string) (session.Restored, error) {
	k.breaks = k.after
	_, _ = k.disk.Restore(ctx, location, snapshot, paths)
	k.breaks = -1
	panic(errKilled)
}

// dies runs a command until its process is killed, or to its end.
func dies(command func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = broken.(error)
		}
	}()
	return command()
}

// Whatever file a process was at when it died, the next one can go on with the prompt,
// stage the revert again, clear it, or commit it, and nobody's files are lost.
func TestKilledWhileFilesAreRestored(t *testing.T) {
	reverted := map[string]string{"a": "0", "keep": "0", "mine": "own"}
	for _, during := range []string{"staging", "clearing"} {
		for after := range 4 {
			if after%min(share, 3) != 0 {
				continue
			}
			for _, then := range []string{"prompt", "again", "clear", "commit"} {
				t.Run(fmt.Sprintf("%s-%d-%s", during, after, then), func(t *testing.T) {
					d := newDisk(maps.Clone(untouched))
					w, id := worked(t, d)
					request := session.RevertRequest{Session: id, Message: messageOf(t, w, id, "first").ID, Files: true}
					if during == "clearing" {
						revert(t, w, id, "first", true)
					}
					dying := New(t, Options{Snapshots: killed{d, after}})
					copySession(t, w, dying, id)
					err := dies(func() error {
						if during == "clearing" {
							_, err := dying.Sessions.ClearRevert(t.Context(), session.System(), id)
							return err
						}
						_, err := dying.Sessions.Revert(t.Context(), session.System(), request)
						return err
					})
					if !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					next := New(t, Options{Snapshots: d})
					copySession(t, dying, next, id)
					s, err := next.Sessions.Get(t.Context(), id)
					if err != nil || s.Revert == nil || !s.Revert.Restoring {
						t.Fatalf("%+v, %v", s.Revert, err)
					}
					want := reverted
					switch then {
					case "prompt":
						next.Provider.Script(Say("Done"))
						next.Prompt(id, "third", session.Steer)
						next.Settled(id, 3)
					case "again":
						_, err = next.Sessions.Revert(t.Context(), session.System(), request)
					case "clear":
						_, err = next.Sessions.ClearRevert(t.Context(), session.System(), id)
						want = afterSecond
					case "commit":
						_, err = next.Sessions.CommitRevert(t.Context(), session.System(), id)
					}
					if err != nil {
						t.Fatal(err)
					}
					wantFiles(t, d, want)
				})
			}
		}
	}
}

// Files that cannot be restored any more end the activity with a reason; the prompt waits.
func TestARevertThatCannotBeFinished(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	dying := New(t, Options{Snapshots: killed{d, 1}})
	copySession(t, w, dying, id)
	_ = dies(func() error {
		_, err := dying.Sessions.Revert(t.Context(), session.System(), session.RevertRequest{Session: id, Message: messageOf(t, w, id, "first").ID, Files: true})
		return err
	})
	next := New(t, Options{})
	copySession(t, dying, next, id)
	next.Prompt(id, "third", session.Steer)
	next.Settled(id, 3)
	if got := ended(next, id); got.Outcome != session.Failed || got.Error.Code != session.FailureRevert {
		t.Errorf("ended %+v", got)
	}
	if pending, err := next.Sessions.Inbox(t.Context(), id); err != nil || len(pending) != 1 {
		t.Errorf("pending %v, %v", pending, err)
	}
	if s, err := next.Sessions.Get(t.Context(), id); err != nil || s.Revert == nil {
		t.Errorf("%+v, %v", s.Revert, err)
	}
}

// A store that holds only the first n events of a session with reverts is what a process
// leaves that died there. Whatever n is, the next one goes on, and a replay of what it
// leaves gives the same tables.
func TestEveryPrefixOfARevertCanBeContinued(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	begin := len(w.Settled(id, 2))
	revert(t, w, id, "second", true)
	revert(t, w, id, "first", true)
	if _, err := w.Sessions.ClearRevert(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	revert(t, w, id, "second", true)
	w.Provider.Script(Calls("write", `{" a 3 ":0}`), Say("Third done"))
	w.Prompt(id, "third", session.Steer)
	events := w.Settled(id, 3)
	taken := maps.Clone(d.taken)
	for n := begin; n <= len(events); n += share {
		t.Run(fmt.Sprintf("%02d-%s", n, events[n-1].Type), func(t *testing.T) {
			place := newDisk(maps.Clone(afterSecond))
			place.taken = maps.Clone(taken)
			next := New(t, Options{Snapshots: place})
			if err := next.Log.Replay(t.Context(), events[:n], store.ReplayOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := next.Runner.Recover(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				next.Provider.Script(Say("Continued"))
			}
			next.Run(id)
			s, err := next.Sessions.Get(t.Context(), id)
			if err != nil || s.Revert != nil {
				t.Errorf("%+v, %v", s.Revert, err)
			}
			page, err := next.Log.Read(t.Context(), id, -1, 1000)
			if err != nil {
				t.Fatal(err)
			}
			replayed := OpenStore(t, t.TempDir())
			defer replayed.Close()
			if err := replayed.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Tables(t, next.Log), Tables(t, replayed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangesAreSummarizedWhenAnActivityEnds(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w, id := worked(t, d)
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := []session.FileDiff{{Path: "a", Additions: 1, Deletions: 1}, {Path: "b", Additions: 1}, {Path: "c", Additions: 1}, {Path: "mine", Additions: 3}}
	if c := s.Changes; c == nil || c.Additions != 6 || c.Deletions != 1 || c.Total != 4 || !cmp.Equal(want, c.Files) {
		t.Errorf("%+v", s.Changes)
	}
	events := w.Settled(id, 2)
	if got := events[len(events)-2].Type; got != "session.changes.summarized" {
		t.Errorf("the activity ends after %s", got)
	}
	w.Provider.Script(Say("Nothing to do"))
	w.Prompt(id, "third", session.Steer)
	for _, event := range w.Settled(id, 3)[len(events):] {
		if event.Type == "session.changes.summarized" {
			t.Error("nothing changed and it was summarized")
		}
	}
}

// The list of files is bounded, the totals are not.
func TestManyChangedFiles(t *testing.T) {
	d := newDisk(maps.Clone(untouched))
	w := New(t, Options{Snapshots: d})
	w.Contribute("core/tools", tool(w, "write", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		for i := range session.MaxFileDiffs + 200 {
			d.write(fmt.Sprintf("new%04d", i), "1")
		}
		return Output("ok"), nil
	}))
	id := w.Create()
	w.Provider.Script(Calls("write", `{}`), Say("Done"))
	w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	s, err := w.Sessions.Get(t.Context(), id)
	if err != nil || s.Changes == nil || s.Changes.Total != session.MaxFileDiffs+200 || s.Changes.Additions != session.MaxFileDiffs+200 || len(s.Changes.Files) != session.MaxFileDiffs {
		t.Fatalf("%+v, %v", s.Changes, err)
	}
	if got := len(assistants(w, id)[0].Files); got != session.MaxFileDiffs {
		t.Errorf("the step lists %d", got)
	}
	revert(t, w, id, "first", true) // all of them go all the same
	wantFiles(t, d, untouched)
}
