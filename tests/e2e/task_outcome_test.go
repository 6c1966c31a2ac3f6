package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/chat"
)

// outcome is what has come of a task.
type outcome struct {
	turns, summaries, prunings, kills int
	calls                             []string          // what was called and asked, and how it came out
	journal                           []string          // the commands with effects, in their order
	tree                              map[string]string // mode and content by path, without .git
}

// came is how a call came out that did not fail.
func came(e session.ToolSucceeded) string {
	var ran struct {
		ExitCode  *int `json:"exit_code"`
		Truncated bool
	}
	if err := json.Unmarshal(e.Structured, &ran); err != nil || ran.ExitCode == nil {
		return "done"
	}
	return fmt.Sprintf("exit %d, truncated %t", *ran.ExitCode, ran.Truncated)
}

// settled notes a call's outcome. What changes something is done once.
func (k *task) settled(message, call, how string) {
	k.t.Helper()
	tool := k.names[callID{message, call}]
	k.out.calls = append(k.out.calls, fmt.Sprintf("%s %s: %s", call, tool, how))
	if how != "done" || !slices.Contains([]string{"write", "edit", "apply_patch"}, tool) {
		return
	}
	if k.wrote[call] != "" {
		k.t.Errorf("%s did its work in %s and in %s", call, k.wrote[call], message)
	}
	k.wrote[call] = message
}

// finish looks at what has come out.
func (k *task) finish() {
	k.t.Helper()
	k.audit.settled()
	report(k.t, k.audit)
	var ids []string
	for _, event := range k.events(k.audit.id) {
		ids = append(ids, event.ID)
	}
	if diff := cmp.Diff(ids, k.audit.ids); diff != "" {
		k.t.Errorf("who followed has read other events than the pages have: %s", diff)
	}
	for i, receipt := range k.sent {
		at, known := k.audit.place[receipt.ID]
		if !known || !k.audit.admitted[at].promoted || k.audit.admitted[at].seq != receipt.AdmittedSeq {
			k.t.Errorf("prompt %d is lost", i+1)
		}
	}
	k.answered()
	turns := len(slices.DeleteFunc(k.model.Requests(), func(r chat.Request) bool { return len(r.Tools) == 0 }))
	if turns > k.out.turns {
		k.t.Errorf("the model had %d requests, and %d turns are recorded", turns, k.out.turns)
	}
	k.host.kill()
	k.healthy(k.copied())
	slices.Sort(k.out.calls) // those of one answer end in any order
	k.out.tree = treeOf(k.t, k.project)
	k.out.journal = k.ran()
	k.exec("go", "test", "-count=1", "./...")
	k.t.Logf("%d turns, %d looks, %d compactions, %d prunings, %d events, %d kills",
		k.out.turns, k.looks(), k.out.summaries, k.out.prunings, len(ids), k.out.kills)
}

// ran are the commands with effects that ran, each once, in their order.
func (k *task) ran() []string {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join(k.project, journal))
	if err != nil {
		k.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if once := slices.Compact(slices.Sorted(slices.Values(lines))); len(once) != len(lines) {
		k.t.Errorf("commands ran twice: %v", lines)
	}
	return lines
}

// looks is how often the model had to see for itself what a call had done.
func (k *task) looks() (n int) {
	for call := range k.names {
		if strings.HasPrefix(call.call, "look-") {
			n++
		}
	}
	return n
}

// answered: what was said last to every prompt is that it is done.
func (k *task) answered() {
	k.t.Helper()
	for i := range taskPrompts {
		said := slices.ContainsFunc(k.audit.events, func(event store.Event) bool {
			payload, err := session.Decode(event)
			text, is := payload.(session.TextEnded)
			return err == nil && is && strings.HasPrefix(text.Text, fmt.Sprintf("Step p%d-s10. Done p%d", i+1, i+1))
		})
		if !said {
			k.t.Errorf("prompt %d has no answer", i+1)
		}
	}
}

// treeOf is the mode and content of every file and folder, without .git.
func treeOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if name == ".git" {
			return filepath.SkipDir
		}
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		tree[name] = info.Mode().String()
		if entry.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		tree[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
