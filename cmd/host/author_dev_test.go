package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/author/dev"
	"github.com/plinthhost/plinth/host/plugin"
)

// ending is an output that calls a function once a text stands in it.
type ending struct {
	mu    sync.Mutex
	text  strings.Builder
	until string
	end   func()
}

func (e *ending) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text.Write(p)
	if strings.Contains(e.text.String(), e.until) {
		e.end()
	}
	return len(p), nil
}

// developing runs plinth plugin dev until it prints a text, and answers what it printed.
func (r *rig) developing(until string, args ...string) (printed, notes string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.within())
	defer cancel()
	out, errors := &ending{until: until, end: cancel}, &ending{until: "\x00", end: cancel}
	c := &cli{in: strings.NewReader(""), out: out, errors: errors, environ: []string{"HOME=" + r.project}, flags: config.Overrides{}, patience: patience}
	root := c.command()
	root.SetArgs(append([]string{"--data", r.data, "plugin", "dev"}, args...))
	code = exitCode(root.ExecuteContext(ctx))
	return out.text.String(), errors.text.String(), code
}

// watched is an author's folder that dev takes.
func watched(t *testing.T) string {
	t.Helper()
	folder := sourced(t, copies, "")
	path := filepath.Join(folder, plugin.ManifestName)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "[dev]\n", "[dev]\nwatch = [\"*.src\"]\n", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAPluginIsDeveloped(t *testing.T) {
	r := newRig(t)
	folder := watched(t)

	// What it asks for is not granted by itself.
	printed, _, code := r.developing("\ndone ", folder)
	for _, want := range []string{"built acme/pair 1.2.0 in ", "      offers tool pair; asks for kv\n", "HELD  acme/pair 1.2.0 waits for approval, and there is no terminal to ask at; say --grant KEY",
		"1 of 1 goldens passed\n", "the version before, if any, serves on"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	if code != exitOK || r.plugin("acme/pair", "").State != protocol.PluginHeld {
		t.Errorf("it ends with %d: %+v", code, r.plugin("acme/pair", ""))
	}

	printed, notes, code := r.developing("\ndone ", folder, "--grant", "kv")
	if code != exitOK || !strings.Contains(printed, "\nserve revision ") || !strings.Contains(notes, "compiling\n") || r.plugin("acme/pair", "").State != protocol.PluginActive {
		t.Errorf("it ends with %d: %s\n%s", code, printed, notes)
	}

	// A disabled plugin stays so.
	if printed, err := r.command("plugin", "disable", "acme/pair"); err != nil {
		t.Fatal(printed, err)
	}
	if printed, _, _ := r.developing("\ndone ", folder); !strings.Contains(printed, "FAIL  it does not serve: the plugin is disabled: plinth plugin enable acme/pair") {
		t.Errorf("%s", printed)
	}
	if printed, _, _ := r.developing("\ndone ", folder, "--no-host"); strings.Contains(printed, "serve") || !strings.Contains(printed, "1 of 1 goldens passed") {
		t.Errorf("%s", printed)
	}
	if printed, _, _ := r.developing(`"kind":"done"`, folder, "--json"); !strings.HasPrefix(printed, `{"kind":"saved"}`+"\n"+`{"kind":"built",`) {
		t.Errorf("%s", printed)
	}
}

// A plugin that the host finds in a folder of its own is looked at there.
func TestAPluginOfAFolderIsDeveloped(t *testing.T) {
	r := newRig(t)
	folder := watched(t)
	r.configure("[plugins]\nfolders = [\"" + filepath.Dir(folder) + "\"]\ndevelopment = true\n")
	if printed, err := alone(t, "plugin", "build", folder); err != nil {
		t.Fatal(printed, err)
	}
	r.restart()
	if known := r.plugin("acme/pair", ""); known.State != protocol.PluginActive || known.Source != plugin.SourceFolder {
		t.Fatalf("%+v", known)
	}
	if printed, _, code := r.developing("\ndone ", folder); code != exitOK || !strings.Contains(printed, "\nserve revision ") {
		t.Errorf("%d\n%s", code, printed)
	}
	if known := r.plugin("acme/pair", ""); known.Source != plugin.SourceFolder {
		t.Errorf("%+v", known)
	}
}

// A host that has gone is waited for.
func TestAHostGoesWhileAPluginIsDeveloped(t *testing.T) {
	r := newRig(t)
	host := &devHost{cli: &cli{}, client: r.client(), looked: true, grants: &grantFlags{}}
	r.stop()
	served, err := host.Serve(r.within(), plugin.Candidate{})
	if err == nil || served.Active || !strings.Contains(err.Error(), "; plinth serve starts the host again, and the next save finds it") {
		t.Errorf("%+v, %v", served, err)
	}
}

// A call that comes to the same is shown once.
func TestACallThatComesToTheSame(t *testing.T) {
	var out strings.Builder
	tellRerun(&out, &dev.Rerun{Failed: dev.Failed{Revision: "r1", Export: "plinth_tool_execute", Outcome: "broken"}, Now: "broken"})
	if want := "FAIL  the call that failed last, with what the host answered then\n      plinth_tool_execute of revision r1 comes to the same\n        broken\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// Nothing that a plugin says drives the terminal.
func TestWhatDevTellsIsClean(t *testing.T) {
	const evil = "\x1b[2J\u202eevil"
	for _, event := range []dev.Event{
		{Kind: dev.KindSaved, Files: []string{evil}},
		{Kind: dev.KindRefused, Text: evil},
		{Kind: dev.KindBuilt, Built: &dev.Built{ID: evil, Version: evil, Offers: []string{evil}, Requests: []string{evil}}},
		{Kind: dev.KindChanged, Lines: []string{evil}},
		{Kind: dev.KindServing, Served: &dev.Served{Held: true, Reason: evil, Lines: []string{evil}}},
		{Kind: dev.KindServing, Served: &dev.Served{Active: true, Revision: evil}},
		{Kind: dev.KindServing, Served: &dev.Served{Reason: evil}},
		{Kind: dev.KindRerun, Rerun: &dev.Rerun{Failed: dev.Failed{Revision: evil, Export: evil, Outcome: evil}, Now: evil}},
		{Kind: dev.KindRerun, Rerun: &dev.Rerun{Failed: dev.Failed{Revision: evil, Export: evil, Outcome: evil}, Now: "other"}},
		{Kind: dev.KindRerun, Rerun: &dev.Rerun{Diverged: evil}},
		{Kind: dev.KindDone, Text: evil},
		{Kind: dev.KindLog, Log: &dev.Line{Level: evil, Text: evil + "\nnext"}},
		{Kind: dev.KindFailed, Failed: &dev.Failed{Export: evil, Session: evil, Outcome: evil}},
		{Kind: dev.KindNote, Text: evil},
	} {
		var out strings.Builder
		tellDev(&out, event, true)
		if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "evil") || event.Kind == dev.KindLog && strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", event.Kind, text)
		}
	}
}
