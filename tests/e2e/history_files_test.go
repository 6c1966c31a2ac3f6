package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// mine is what a person wrote into a file that the session had written too.
const mine = "what a person wrote\n"

// TestKilledReverting: the host is killed while it goes back in a session and in its
// files. Each file is what it was before or after, and people get back either of them.
func TestKilledReverting(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"stage", "clear", "commit", "prompt"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			a := newAnnals(t, "")
			for n := range *historyKills + 1 {
				a.reverted(command, n)
			}
			a.told()
		})
	}
}

// reverted kills the host over one of the commands of a revert.
func (a *annals) reverted(command string, n int) {
	t := a.t
	t.Helper()
	id := a.host.session(a.world)
	a.say(id, "[write 1] for a start")
	second := a.say(id, "[write 2] then this").ID
	a.write("project/"+fileName(0), mine)
	a.write("project/own.txt", mine)
	stage := func(ctx context.Context) error {
		_, err := a.host.client.RevertSession(ctx, id, protocol.RevertSession{Message: second})
		return err
	}
	commands := map[string]func(context.Context) error{
		"stage":  stage,
		"clear":  func(ctx context.Context) error { _, err := a.host.client.ClearRevert(ctx, id); return err },
		"commit": func(ctx context.Context) error { _, err := a.host.client.CommitRevert(ctx, id); return err },
		"prompt": func(ctx context.Context) error {
			_, err := a.host.client.PromptAndWait(ctx, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: "[other]"}})
			return err
		},
	}
	if command != "stage" {
		a.staged(id, stage, n)
	}
	cut := a.dies(deed{name: command, watched: id, sight: a.replaced(), do: commands[command]})
	before, after := a.inState()
	a.reborn()
	if command == "prompt" {
		a.say(id, "[idle]") // what the prompt asked for is done before this
	}
	now, err := a.host.client.Session(a.within(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("killed over %s (%v): %d files as before the revert, %d as after it, now %+v", command, cut, after, before, now.Revert != nil)
	gone := a.finish(id, now, stage, command, n)
	a.say(id, "[last]")
	var texts []string
	for _, message := range a.sent("[last]") {
		texts = append(texts, message.Content)
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "[write 1]") || strings.Contains(all, "[write 2]") == gone {
		t.Errorf("%s: reverted is %t, and the model is sent %.3000s", command, gone, all)
	}
	a.noRemains()
}

// staged stages a revert. Every other one is cut off, so that what follows it has to
// restore the files.
func (a *annals) staged(id string, stage func(context.Context) error, n int) {
	a.t.Helper()
	if n%2 == 1 {
		_ = a.dies(deed{name: "stage", watched: id, sight: a.replaced(), do: stage})
		a.reborn()
		if now, err := a.host.client.Session(a.within(), id); err != nil || now.Revert != nil {
			if err != nil {
				a.t.Fatal(err)
			}
			return
		}
	}
	begun := time.Now()
	if err := stage(a.within()); err != nil {
		a.t.Fatal(err)
	}
	a.took["stage"] = time.Since(begun)
}

// replaced sees when one of the files is another one, or one that is to replace it is
// there.
func (a *annals) replaced() func() bool {
	a.t.Helper()
	path := filepath.Join(a.project, fileName(a.random.IntN(files)))
	first, err := os.Stat(path)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.random.IntN(2) == 0 {
		return func() bool {
			now, err := os.Stat(path)
			return err == nil && !os.SameFile(first, now)
		}
	}
	pattern := filepath.Join(filepath.Dir(path), ".plinth-restore-*")
	return func() bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	}
}

// finish brings a revert to one of its ends, and holds the files to that. It answers
// whether the message is gone.
func (a *annals) finish(id string, now protocol.Session, stage func(context.Context) error, command string, n int) (gone bool) {
	t := a.t
	t.Helper()
	expect := func(what string, err error, original bool) {
		t.Helper()
		before, after := a.inState()
		if err != nil || original && after != files || !original && before != files {
			t.Errorf("killed over %s, then %s: %d files are as before the session's change, %d as after it; %v", command, what, before, after, err)
		}
	}
	_, hasSecond := a.hasWrite(id)
	switch {
	case now.Revert == nil && hasSecond: // never staged, or cleared
		expect("nothing", nil, true)
		expect("stage", stage(a.within()), false)
		_, err := a.host.client.ClearRevert(a.within(), id)
		expect("clear", err, true)
		return false
	case now.Revert == nil:
		expect("nothing", nil, false)
		return true
	}
	switch n % 4 {
	case 0:
		_, err := a.host.client.ClearRevert(a.within(), id)
		expect("clear", err, true)
		return false
	case 1:
		_, err := a.host.client.CommitRevert(a.within(), id)
		expect("commit", err, false)
	case 2:
		expect("stage again", stage(a.within()), false)
		_, err := a.host.client.ClearRevert(a.within(), id)
		expect("clear", err, true)
		return false
	case 3:
		a.say(id, "[goes on]")
		expect("a prompt", nil, false)
	}
	return true
}

// hasWrite reports which writes the transcript has.
func (a *annals) hasWrite(id string) (first, second bool) {
	a.t.Helper()
	for _, text := range a.users(id) {
		first, second = first || strings.Contains(text, "[write 1]"), second || strings.Contains(text, "[write 2]")
	}
	return first, second
}

// inState counts the files that are as they were before the second write, and those that
// are as a person left them after it. There is no third state.
func (a *annals) inState() (before, after int) {
	a.t.Helper()
	for i := range files {
		text, err := os.ReadFile(filepath.Join(a.project, fileName(i)))
		later := fileText(2, i)
		if i == 0 {
			later = mine
		}
		switch {
		case err != nil:
			a.t.Errorf("%s: %v", fileName(i), err)
		case string(text) == fileText(1, i):
			before++
		case string(text) == later:
			after++
		default:
			a.t.Errorf("%s has %d bytes that nobody wrote: %.60q", fileName(i), len(text), text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(a.project, "own.txt")); err != nil || string(text) != mine {
		a.t.Errorf("a person's own file has %q, %v", text, err)
	}
	return before, after
}

// noRemains: nothing that a restore was writing lies about.
func (a *annals) noRemains() {
	a.t.Helper()
	err := filepath.WalkDir(a.project, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".plinth") {
			return errors.Join(err, fmt.Errorf("%s was left behind", path))
		}
		return err
	})
	if err != nil {
		a.t.Error(err)
	}
}
