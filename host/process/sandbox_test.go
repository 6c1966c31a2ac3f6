package process

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is asked for and what the system offers decide what becomes of commands.
func TestWhatTheSandboxIs(t *testing.T) {
	none, old, third, whole := offer{reason: "no Landlock"}, offer{version: 2}, offer{version: 3}, offer{version: 7}
	for name, test := range map[string]struct {
		asked   Sandbox
		offered offer
		want    Confinement
	}{
		"off":                    {Sandbox{}, whole, Confinement{SandboxNone, "it is switched off", false, false}},
		"auto":                   {Sandbox{Mode: ModeAuto}, whole, Confinement{SandboxLandlock, "", false, false}},
		"auto, the network":      {Sandbox{Mode: ModeAuto, NoNetwork: true}, whole, Confinement{SandboxLandlock, "", false, true}},
		"auto without":           {Sandbox{Mode: ModeAuto}, none, Confinement{SandboxNone, "no Landlock", false, false}},
		"auto, old":              {Sandbox{Mode: ModeAuto}, old, Confinement{SandboxNone, "this kernel has version 2 of Landlock and 3 is needed, which Linux 6.2 has", false, false}},
		"on":                     {Sandbox{Mode: ModeOn}, third, Confinement{SandboxLandlock, "", false, false}},
		"on without":             {Sandbox{Mode: ModeOn}, none, Confinement{SandboxNone, "no Landlock", true, false}},
		"auto, old, the network": {Sandbox{Mode: ModeAuto, NoNetwork: true}, third, Confinement{SandboxLandlock, "the network is not kept from commands: this kernel has version 3 of Landlock and 4 is needed, which Linux 6.7 has", false, false}},
		"on, old, the network":   {Sandbox{Mode: ModeOn, NoNetwork: true}, third, Confinement{SandboxLandlock, "the network is not kept from commands: this kernel has version 3 of Landlock and 4 is needed, which Linux 6.7 has", true, false}},
	} {
		got, err := newSandbox(test.asked, func() offer { return test.offered })
		if err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff(test.want, got.Confinement); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for want, asked := range map[string]Sandbox{
		`run a command: Sandbox.Mode is "yes"; give off, auto or on`:                                    {Mode: "yes"},
		`run a command: Sandbox.Write has "cache", which is relative; give absolute paths`:              {Mode: ModeAuto, Write: []string{"cache"}},
		`run a command: Sandbox.NoNetwork is set and Sandbox.Mode is off; the sandbox is what keeps co`: {NoNetwork: true},
	} {
		if _, err := New(Options{Sandbox: asked}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// Where it is asked for and there is none, nothing runs but a person's own commands.
func TestOnWithoutASandbox(t *testing.T) {
	r := newRunner(t, Options{})
	var err error
	if r.sandbox, err = newSandbox(Sandbox{Mode: ModeOn}, func() offer { return offer{reason: "no Landlock"} }); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	_, err = r.Run(t.Context(), Command{Line: "touch made", Directory: folder, Project: folder})
	if failed, ok := err.(*Error); !ok || failed.Kind != KindSandbox || failed.Error() != "run a command: commands run in the sandbox only, and there is none: no Landlock" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "made")); err == nil {
		t.Error("it ran")
	}
	if got := run(t, r, Command{Line: "touch made", Directory: folder}); got.ExitCode != 0 || got.Sandbox != (Confinement{}) {
		t.Errorf("%+v", got)
	}
}

func TestAProjectIsAbsolute(t *testing.T) {
	_, err := newRunner(t, Options{}).Run(t.Context(), Command{Line: "true", Directory: "/", Project: "work"})
	if failed, ok := err.(*Error); !ok || failed.Kind != KindInvalid || failed.Field != "Project" {
		t.Errorf("%v", err)
	}
}

// Where the tools keep things is told by the user's folder and the variables.
func TestUsual(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/elsewhere/cache")
	t.Setenv("TMPDIR", "/elsewhere/tmp")
	variables := map[string]string{"GOMODCACHE": "/mods", "CARGO_HOME": "/cargo", "GOCACHE": "relative"}
	paths := Usual("/home/ann", func(name string) string { return variables[name] })
	for _, want := range []string{"/tmp", "/home/ann/go/pkg", "/mods", "/cargo/registry", "/cargo/.package-cache", "/home/ann/.npm", "/home/ann/.m2/repository", "/home/ann/.local/share/pnpm/store"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not among %v", want, paths)
		}
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) || slices.Contains([]string{"/", "/home/ann", "/cargo", "/home/ann/.cargo/bin", "/home/ann/go/bin"}, path) {
			t.Errorf("%q is among them", path)
		}
	}
}

// Folders that an installed tool would make are known.
func TestWanted(t *testing.T) {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	wanted := Wanted(home, func(string) string { return "" })
	if runtime.GOOS == "linux" && !slices.Contains(wanted, filepath.Join(home, "cache")) {
		t.Errorf("no cache among %v", wanted)
	}
	if diff := cmp.Diff([]string{filepath.Join(home, ".cargo/registry"), filepath.Join(home, ".cargo/git")}, wanted[1:]); diff != "" {
		t.Error(diff)
	}
}
