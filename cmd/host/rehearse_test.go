package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/session"
)

// facts makes a folder of a plugin that tells one fact and edits each request.
func facts(t *testing.T, folder, version, fact, temperature string) string {
	t.Helper()
	guest := bridgetest.New().
		Answers(abi.ExportContext, `{"ok":{"sources":[{"key":"acme/facts/one","state":"value","value":"`+fact+`","baseline":"The fact is `+fact+`.","update":"The fact is now `+fact+`."}]}}`).
		Answers(abi.ExportTransform, `{"ok":{"edits":[{"part":"generation","op":"set","id":"temperature","value":`+temperature+`}]}}`)
	manifest := "schema = 1\nid = \"acme/facts\"\nversion = \"" + version + "\"\ndescription = \"Tells facts\"\n[[context]]\nkey = \"acme/facts/one\"\n" +
		"[[transform]]\nname = \"cool\"\nreads = [\"generation\"]\nwrites = [\"generation\"]\n"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{plugin.ManifestName: manifest, "facts.wasm": string(guest.Bytes())} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// head is the sequence of the newest event of an aggregate.
func (r *rig) head(aggregate string) int64 {
	r.t.Helper()
	page, err := r.store.Read(r.within(), aggregate, -1, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Head.Seq
}

func TestANewVersionIsRehearsed(t *testing.T) {
	r := newRig(t)
	folder := facts(t, filepath.Join(filepath.Dir(r.data), "plugins", "facts"), "1.0.0", "blue", "0.5")
	r.configure("[plugins]\nfolders = [\"" + filepath.Dir(folder) + "\"]\n")
	r.restart()
	id := r.session()
	for range 2 {
		if result := r.settled(id, "hello"); result.Outcome != protocol.OutcomeCompleted {
			t.Fatalf("%+v\n%s", result, r.log.String())
		}
	}
	before, hostBefore := r.head(id), r.head(session.Host)

	printed, err := r.command("plugin", "rehearse", folder, "--session", id)
	if err != nil || !strings.Contains(printed, "nothing differs in 2 turns") {
		t.Errorf("the version that serves: %v\n%s", err, printed)
	}
	next := facts(t, t.TempDir(), "1.1.0", "green", "0.75")
	printed, err = r.command("plugin", "rehearse", next, "--session", id)
	if exitCode(err) != exitFailed {
		t.Errorf("ends with %d: %v", exitCode(err), err)
	}
	for _, want := range []string{"acme/facts 1.1.0 (", "beside 1.0.0 (", "context acme/facts/one\n", "  ok.value\n", "    - \"blue\"\n    + \"green\"\n",
		"transform acme/facts/cool on msg_", "    - 0.5\n    + 0.75\n", "2 compared  2 differ"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	var told protocol.Rehearsal
	printed, err = r.command("plugin", "rehearse", next, "--session", id, "--turns", "1", "--json")
	if decodeErr := json.Unmarshal([]byte(printed), &told); exitCode(err) != exitFailed || decodeErr != nil || told.Same || told.Turns != 1 || len(told.Findings) != 2 ||
		told.Plugin != "acme/facts" || told.SessionID != id || told.New.Version != "1.1.0" {
		t.Errorf("%v, %v\n%s", err, decodeErr, printed)
	}
	if after, hostAfter := r.head(id), r.head(session.Host); after != before || hostAfter != hostBefore {
		t.Errorf("something was recorded: %d and %d, before %d and %d", after, hostAfter, before, hostBefore)
	}
	if shown := r.plugins.List(); !slices.ContainsFunc(shown, func(s plugin.Status) bool { return s.ID == "acme/facts" && s.Current().Version == "1.0.0" && s.Serving }) {
		t.Errorf("%+v", shown)
	}
}

func TestWhatIsNotRehearsed(t *testing.T) {
	r := newRig(t)
	id := r.session()
	folder := facts(t, t.TempDir(), "1.0.0", "blue", "0.5")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder, "--session", id}, exitFailed, "conflict: no plugin acme/facts serves the session"},
		{[]string{folder, "--session", "ses_01JD000000000000000000000A"}, exitFailed, "ses_01JD000000000000000000000A"},
		{[]string{folder}, exitUsage, "--session"},
		{[]string{folder, "--session", id, "--turns", "101"}, exitUsage, "from 1 to 100"},
		{[]string{t.TempDir(), "--session", id}, exitUsage, "plugin.toml"},
	} {
		_, err := r.command(append([]string{"plugin", "rehearse"}, test.args...)...)
		if exitCode(err) != test.code || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %d, %v", test.args, exitCode(err), err)
		}
	}
}
