package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

// command runs a command line against the rig's host and answers what it prints.
func (r *rig) command(args ...string) (string, error) {
	r.t.Helper()
	var out, errors bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, errors: &errors, environ: []string{"HOME=" + r.project}, flags: config.Overrides{}, patience: patience}
	root := c.command()
	root.SetArgs(append([]string{"--data", r.data}, args...))
	err := root.ExecuteContext(r.within())
	return out.String() + errors.String(), err
}

func TestInboxCommand(t *testing.T) {
	r := newRig(t)
	id := r.session()
	var prompts []string
	for _, text := range []string{"one", "two", "three"} {
		input, err := r.backend.sessions.Admit(r.within(), session.System(), session.PromptRequest{Session: id, Delivery: session.Queue, AdmitOnly: true,
			Prompt: session.Prompt{Text: text, System: "s", Agents: []session.PromptAgent{{Name: "a", Source: &session.PromptSource{End: 3, Text: text[:3]}}}}})
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, input.ID)
	}
	for _, c := range []struct {
		args  []string
		print string
	}{
		{[]string{"edit", prompts[0], "1"}, "queue  1"}, {[]string{"steer", prompts[1]}, "steer  two"}, {[]string{"queue", prompts[1]}, "queue  two"},
		{[]string{"before", prompts[2], prompts[0]}, "queue  three"}, {[]string{"last", prompts[0]}, "queue  1"}, {[]string{"cancel", prompts[1]}, "cancelled  two"},
	} {
		if printed, err := r.command(append([]string{"inbox", id}, c.args...)...); err != nil || !strings.Contains(printed, c.print) {
			t.Errorf("%v printed %q, %v", c.args, printed, err)
		}
	}
	pending, err := r.backend.sessions.Inbox(r.within(), id)
	var texts []string
	for _, input := range pending {
		texts = append(texts, input.Prompt.Text)
	}
	if !slices.Equal(texts, []string{"three", "1"}) || err != nil {
		t.Fatalf("%v, %v", texts, err)
	}
	if edited := pending[1].Prompt; edited.System != "s" || len(edited.Agents) != 1 || edited.Agents[0].Source != nil {
		t.Errorf("the edit made %+v", edited)
	}
	listed, err := r.command("inbox", id)
	if err != nil || strings.Index(listed, "three") > strings.Index(listed, prompts[0]) {
		t.Errorf("%q, %v", listed, err)
	}
	for want, args := range map[string][]string{
		"was cancelled at sequence": {"inbox", id, "cancel", prompts[1]}, "is not cancel, edit": {"inbox", id, "drop", prompts[0]},
		"write edit PROMPT TEXT": {"inbox", id, "edit", prompts[0]}, "no session is named": {"inbox"},
		"give --agent or --model": {"sessions", "switch", id}, "--model: ": {"sessions", "switch", id, "-m", "x"},
	} {
		if _, err := r.command(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestSessionCommands(t *testing.T) {
	r := newRig(t)
	id := r.session()
	r.settled(id, "count 2")
	for want, args := range map[string][]string{
		"  plan  offline/rules  ": {"sessions", "switch", id, "--agent", "plan", "-m", "offline/rules"},
		"provider turns  1":       {"sessions", "usage", id}, `"turns": 1`: {"sessions", "usage", id, "--json"},
	} {
		if printed, err := r.command(args...); err != nil || !strings.Contains(printed, want) {
			t.Errorf("%v printed %q, %v", args, printed, err)
		}
	}
	place, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if printed, err := r.command("sessions", "move", id, place); err != nil || !strings.Contains(printed, place) {
		t.Errorf("%q, %v", printed, err)
	}
	r.settled(id, "count 1") // in its new place
	if s, err := r.backend.sessions.Get(r.within(), id); err != nil || s.Location.Directory != place || s.Agent != "plan" {
		t.Errorf("%+v, %v", s, err)
	}
}
