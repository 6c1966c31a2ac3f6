package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script writes a program and answers its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommand(t *testing.T) {
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"command:echo  a   b":                                          "a b", // found by PATH, split at spaces
		"command:" + echo + " $HOME `x` *":                             "$HOME `x` *",
		`command:["echo", "a  b", "c;d"]`:                              "a  b c;d",
		"command:" + script(t, "printf 'x\\n\\n'"):                     "", // one newline is cut, the other refused
		"command:" + script(t, `printf '{\n "AccessKeyId": "a"\n}\n'`): `{"AccessKeyId":"a"}`,
		"command:" + script(t, "cat"):                                  "", // its input is empty
		"command:" + script(t, "pwd"):                                  "/",
	} {
		value, err := Resolve(t.Context(), ref)
		if value.Reveal() != want || (want == "") != (err != nil) {
			t.Errorf("%s: %q, %v", ref, value.Reveal(), err)
		}
	}
}

func TestCommandSeesLittle(t *testing.T) {
	t.Setenv("PLINTH_TEST_TOKEN", "planted")
	t.Setenv("GNUPGHOME", "/kept")
	value, err := Resolve(t.Context(), "command:"+script(t, `env | tr '\n' ' '`))
	if err != nil {
		t.Fatal(err)
	}
	if got := value.Reveal(); strings.Contains(got, "planted") || !strings.Contains(got, "GNUPGHOME=/kept") {
		t.Error(got)
	}
}

func TestCommandFailures(t *testing.T) {
	for text, want := range map[string]string{
		"echo planted; echo planted >&2; exit 3":       "ended with exit status 3; run it by hand",
		"kill -9 $$":                                   "it was ended (signal: killed)",
		"yes planted":                                  "has more than 64 KiB",
		"trap '' PIPE; while :; do echo planted; done": "has more than 64 KiB",
	} {
		path := script(t, text)
		value, err := Resolve(t.Context(), "command:"+path+" planted")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "secret command:"+path) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if strings.Contains(err.Error(), "planted") || value.Reveal() != "" {
			t.Errorf("%s: %v shows what was printed", text, err)
		}
	}
	if _, err := Resolve(t.Context(), "command:"+t.TempDir()); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a folder: %v", err)
	}
}

func TestCommandEnds(t *testing.T) {
	// The child would hold the output open for an hour.
	path := script(t, "sleep 3600 & wait")
	started := time.Now()
	_, err := fromCommand(t.Context(), []string{path}, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not end within 50ms") {
		t.Errorf("%v", err)
	}
	reason := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	pipe := filepath.Join(t.TempDir(), "running")
	path = script(t, fmt.Sprintf("echo > %s; sleep 3600", pipe))
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	go func() {
		_, _ = os.ReadFile(pipe) // until it runs
		cancel(reason)
	}()
	if _, err := fromCommand(ctx, []string{path}, time.Hour); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCommandLeavesAChild(t *testing.T) {
	_, err := Resolve(t.Context(), "command:"+script(t, "echo value; sleep 3600 &"))
	if err == nil || !strings.Contains(err.Error(), "left a child behind") {
		t.Errorf("%v", err)
	}
}
