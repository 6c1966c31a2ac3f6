package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/secret"
)

func TestAServerOverStdio(t *testing.T) {
	r := newRig(t, stdio(t, "local", "usual"))
	want := []string{"local_big", "local_crash", "local_deaf", "local_echo", "local_fail", "local_flood", "local_freeze", "local_grow", "local_refuse", "local_rich", "local_steps", "local_wait"}
	if got := r.names(); !slices.Equal(got, want) {
		t.Fatalf("%q\n%s", got, r.log.String())
	}
	definition := r.tool("local_echo").Definition()
	if definition.Description != "Says it again." || definition.Timeout != DefaultTimeout || definition.Permission.Action != "" || definition.Permission.ByOperation {
		t.Errorf("%+v", definition)
	}
	for _, test := range []struct{ tool, input, want string }{
		{"echo", `{"text":"hello"}`, "hello from [secret]"},
		{"fail", `{}`, "failed: the disk is full"},
		{"refuse", `{}`, "failed: The MCP server local refused the call: not today"},
		{"big", `{}`, "limit: The MCP server local answered with 1048577 bytes of text, the limit is 1048576; ask for less"},
		{"rich", ``, "look\n[image/png image blob1]\n[image/gif image blob2]\nResource a: file:///a\nmem:/b:\ninside\n[application/octet-stream c.bin blob3]\n{\"n\":1}"},
	} {
		if got := r.call("local_"+test.tool, test.input); got != test.want {
			t.Errorf("%s: %s", test.tool, got)
		}
	}
	if r.blobs.kept["blob1"] != "\x89PNG\r\n\x1a\n" || r.blobs.kept["blob3"] != "\x00\x01" {
		t.Errorf("%q", r.blobs.kept)
	}
	if log := r.log.String(); !strings.Contains(log, "serving usual [secret]") {
		t.Errorf("standard error is not logged, or with the secret: %s", log)
	}
}

func TestProgressOfACall(t *testing.T) {
	r := newRig(t, stdio(t, "local", "usual"))
	ctx, cancel := context.WithCancel(t.Context())
	h := &host{shown: cancel}
	if got := r.callAs(ctx, h, "local_steps", "{}"); got != "error: context canceled" || !slices.Equal(h.progress, []string{"1/3 one of three"}) {
		t.Errorf("%s, %q", got, h.progress)
	}
}

// A call that is cancelled is cancelled in the server too, which stays.
func TestACallIsCancelled(t *testing.T) {
	config := stdio(t, "local", "usual")
	trace := filepath.Join(t.TempDir(), "cancelled")
	config.Environment["CANCELLED"] = trace
	r := newRig(t, config)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by hand")
	if got := r.callAs(ctx, &host{shown: func() { cancel(stopped) }}, "local_wait", "{}"); got != "error: stopped by hand" {
		t.Error(got)
	}
	if got := r.call("local_echo", `{"text":"still"}`); !strings.HasPrefix(got, "still") {
		t.Error(got)
	}
	end := time.Now().Add(10 * time.Second)
	for {
		if _, err := os.Stat(trace); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server was not told")
		}
		r.call("local_echo", `{"text":"again"}`)
	}
}

func TestACallThatTakesTooLong(t *testing.T) {
	config := stdio(t, "local", "usual")
	config.Timeout = 50 * time.Millisecond
	r := newRig(t, config)
	if got := r.call("local_deaf", "{}"); got != "timeout: The MCP server local did not answer within 50ms" {
		t.Error(got)
	}
}

// A server that answers nothing any more is started again. One that only takes long for a
// call is not.
func TestAServerThatFreezesIsStartedAgain(t *testing.T) {
	config := stdio(t, "local", "usual")
	config.Timeout = time.Second
	r := unstarted(t, config)
	r.options.Patience = 3 * time.Second
	r.Ready(t.Context())
	if got := r.call("local_deaf", "{}"); !strings.HasPrefix(got, "timeout: ") {
		t.Fatal(got)
	}
	if got := r.call("local_echo", `{"text":"here"}`); got != "here from [secret]" {
		t.Fatal(got)
	}
	if got := r.call("local_freeze", "{}"); !strings.HasPrefix(got, "timeout: ") {
		t.Fatal(got)
	}
	for range 20 { // each takes its time, or waits for the server that is started
		if got := r.call("local_echo", `{"text":"back"}`); got == "back from [secret]" {
			if strings.Count(r.log.String(), "answers nothing any more") != 1 {
				t.Error(r.log.String())
			}
			return
		}
	}
	t.Errorf("it is not started again: %s", r.log.String())
}

// A server whose list changes all the time is ended like any other when it is disabled.
func TestAServerWhoseListChangesIsDisabled(t *testing.T) {
	r := unstarted(t, stdio(t, "local", "usual"))
	r.options.Pause = time.Hour
	r.Ready(t.Context())
	s := r.server("local")
	c, err := s.reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.changed <- struct{}{}
	for len(c.changed) > 0 { // until the change waits for its pause
		runtime.Gosched()
	}
	s.look(false) // which is about nothing
	r.change(func() { r.disabled["local"] = true })
	r.Look(t.Context(), "local", false)
	over := time.NewTimer(20 * time.Second)
	defer over.Stop()
	select {
	case <-c.ended:
	case <-over.C:
		t.Error("it still runs")
	}
}

// A secret that is cut is still a secret.
func TestWhatAServerSaidLastHasNoPartOfASecret(t *testing.T) {
	r := newRig(t, stdio(t, "leaky", "leaky"))
	if got := r.failure("leaky"); !strings.Contains(got, "xxx") || strings.Contains(got, "TOK") {
		t.Error(got)
	}
	if got := r.log.String(); strings.Contains(got, "TOK") {
		t.Error(got)
	}
}

// What a program says is logged by lines, of a long one the beginning, without a part of a
// secret wherever it is cut.
func TestDiary(t *testing.T) {
	const token = "the-token-of-this-test"
	scrubber := &secret.Scrubber{}
	scrubber.Add(secret.NewValue(token))
	for _, step := range []int{1, 7, 1 << 20} {
		log := &journal{}
		d := &diary{logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug}), scrub: scrubber.Scrub}
		text := []byte("first\n" + strings.Repeat("y", maxLogged-8) + token + strings.Repeat("y", maxSaid-maxLogged-20) + token + "\nlast " + token + "\n")
		for part := range slices.Chunk(text, step) {
			if n, err := d.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		got := log.String()
		if lines := strings.Count(got, "it says"); lines != 3 || !strings.Contains(got, "first") || !strings.Contains(got, "last [secret]") {
			t.Errorf("in steps of %d: %d lines", step, lines)
		}
		if strings.Contains(got, "the-") || strings.Contains(got, "this-test") {
			t.Errorf("in steps of %d: a part of the secret is logged", step)
		}
	}
}

// A server that ends in a call is started again, and its tools stay.
func TestAServerThatCrashesIsStartedAgain(t *testing.T) {
	r := newRig(t, stdio(t, "local", "usual"))
	if got := r.call("local_crash", "{}"); !strings.HasPrefix(got, "unavailable: The connection to the MCP server local broke in the call") {
		t.Error(got)
	}
	if got := r.call("local_echo", `{"text":"back"}`); got != "back from [secret]" {
		t.Error(got)
	}
	if got := times(r.served, "local"); got != 1 {
		t.Errorf("it was put into the registries %d times, for the same tools", got)
	}
	if log := r.log.String(); !strings.Contains(log, "ended with the code 7") || !strings.Contains(log, "out of cheese") {
		t.Error(log)
	}
	if got := r.call("local_flood", "{}"); !strings.HasPrefix(got, "unavailable: ") {
		t.Errorf("%.200s", got)
	}
	if got := r.call("local_echo", `{"text":"back"}`); got != "back from [secret]" {
		t.Error(got)
	}
}

func TestAListThatChanges(t *testing.T) {
	r := newRig(t, stdio(t, "local", "usual"))
	if got := r.call("local_grow", "{}"); got != "grown" {
		t.Fatal(got)
	}
	r.until("the new tool", func() bool { return times(r.served, "local") == 2 })
	if got := r.call("local_grown", "{}"); got != "new" {
		t.Error(got)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	absent := Server{Name: "absent", Command: []string{"no-such-program-anywhere"}}
	unset := stdio(t, "unset", "usual")
	unset.Environment["TOKEN"] = "keyring:none"
	r := newRig(t, absent, unset, stdio(t, "broken", "broken"), stdio(t, "babble", "babble"), stdio(t, "list", "huge list"))
	for name, want := range map[string]string{
		"absent": "no-such-program-anywhere", "unset": "the variable TOKEN: there is no such secret",
		"broken": "it ended with the code 3; the last it said is: no licence [31mfound", "babble": "begin with it: ", "list": "list its tools: ",
	} {
		if got := r.failure(name); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if names := r.names(); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

// One that never answers keeps nobody longer than the patience, and ends with the hub.
func TestAServerThatNeverAnswers(t *testing.T) {
	r := unstarted(t, stdio(t, "mute", "mute"))
	r.options.Patience = 300 * time.Millisecond
	r.Ready(t.Context())
	if got := r.failure("mute"); !strings.Contains(got, "did not answer in time") {
		t.Error(got)
	}
}

func TestServersComeAndGo(t *testing.T) {
	one, two := stdio(t, "one", "usual"), stdio(t, "two", "usual")
	two.Allow, two.Deny = []string{"e*", "rich"}, []string{"r?ch"}
	r := newRig(t, one)
	if err := r.Configure(t.Context(), []Server{two}); err != nil {
		t.Fatal(err)
	}
	r.until("two", func() bool { return slices.Contains(r.served, "two") })
	if got := r.names(); !slices.Equal(got, []string{"two_echo"}) || !slices.Contains(r.left, "one") {
		t.Errorf("%q, left %q", got, r.left)
	}
	two.Deny, two.Allow = nil, []string{"echo", "fail"}
	if err := r.Configure(t.Context(), []Server{two}); err != nil {
		t.Fatal(err)
	}
	r.until("two again", func() bool { return times(r.served, "two") == 2 })
	if got := r.names(); !slices.Equal(got, []string{"two_echo", "two_fail"}) {
		t.Errorf("%q", got)
	}
	if got := r.call("two_echo", `{"text":"x"}`); got != "x from [secret]" {
		t.Error(got)
	}
}

// A disabled server does not run; an enabled one does; one that is to be looked at anew is
// started again.
func TestAServerIsDisabled(t *testing.T) {
	r := unstarted(t, stdio(t, "local", "usual"))
	r.disabled["local"] = true
	r.Ready(t.Context())
	if strings.Contains(r.log.String(), "serving") || len(r.names()) != 0 {
		t.Errorf("it runs: %s", r.log.String())
	}
	r.change(func() { r.disabled["local"] = false })
	r.Look(t.Context(), "local", false)
	r.until("served", func() bool { return times(r.served, "local") == 1 })
	before := strings.Count(r.log.String(), "serving usual")
	r.Look(t.Context(), "local", true)
	for range 2000 {
		if strings.Count(r.log.String(), "serving usual") > before {
			break
		}
		r.call("local_echo", `{"text":"x"}`)
	}
	if strings.Count(r.log.String(), "serving usual") != before+1 {
		t.Error(r.log.String())
	}
	r.change(func() { r.disabled["local"] = true })
	r.Look(t.Context(), "local", false)
	for range 2000 {
		if got := r.call("local_echo", `{"text":"x"}`); strings.HasPrefix(got, "unavailable: ") {
			return
		}
	}
	t.Error("it still answers")
}
