package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// TestCommandLines: the exit code and the last words of command lines, without a
// host that runs.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("project/.env", "KEY=1\n")
	for _, c := range []struct {
		line  string
		code  int
		out   string // in the output
		notes string // in the notes
	}{
		{"", 0, "Available Commands", ""},
		{"--help", 0, "plinth [command]", ""},
		{"--version", 0, "plinth version", ""},
		{"help run", 0, "--on-ask", ""},
		{"nonsense", 2, "", `unknown command "nonsense"`},
		{"token", 0, "create", ""},
		{"token nonsense", 2, "", `unknown command "nonsense"`},
		{"completion nonsense", 2, "", `unknown command "nonsense"`},
		{"run", 2, "", "accepts 1 arg(s), received 0; see plinth run --help"},
		{"run a b", 2, "", "received 2"},
		{"sessions extra", 2, "", "unknown command"},
		{"run --nonsense x", 2, "", "unknown flag: --nonsense"},
		{"sessions --limit many", 2, "", "--limit"},
		{"run --model gpt x", 2, "", `--model: "gpt" is not a model; write provider/model`},
		{"run --on-ask maybe x", 2, "", `--on-ask is "maybe"; it must be ask, deny or fail`},
		{"run --on-ask ask x", 2, "", "needs a terminal to ask at; use deny or fail"},
		{"run --allow :x x", 2, "", `--allow is ":x"; write ACTION or ACTION:RESOURCE`},
		{"run --id msg_0123456789abcdefAAAAAAAAAAAAAA x", 2, "", "--id needs --session"},
		{"run --dir /nowhere x", 2, "", "/nowhere is not a directory"},
		{"serve --listen 4747", 2, "", `--listen: listen = "4747": must be an IP address`},
		{"serve --listen 0.0.0.0:0", 1, "", "can be reached from other machines"},
		{"sessions --config /nowhere.toml", 2, "", "/nowhere.toml"},
		{"sessions --log-level loud", 2, "", `--log-level: log.level = "loud": must be one of trace, debug, info, warn, error`},
		{"events ses_none --follow", 6, "", "start one with plinth serve"},
		{"events ses_none", 1, "", "not_found: session ses_none: not found"},
		{"token revoke tok_none", 1, "", `not_found: there is no token "tok_none"`},
		{"token create --scope root x", 2, "", `scope "root" is not one of`},
		{"sessions", 0, "", "no sessions"},
		{"run --model offline/other x", 2, "", `bad_request: model: the provider "offline" has no model "other" to choose; there are rules`},
		{"run --on-ask deny read_.env", 4, "was refused", "denied; allow it with --allow read"},
		{"run --on-ask fail read_.env", 4, "", "refused, because of --on-ask fail"},
		{"run --allow read read_.env", 0, "KEY=1", "allowed by --allow"},
		{"run --allow re*:*.env read_.env", 0, "KEY=1", "allowed by --allow"},
		{"run --allow read:*.txt read_.env", 4, "was refused", "denied"},
		{"run --allow write:*.txt --allow read:.env read_.env", 0, "KEY=1", "allowed by --allow"},
		{"sessions --limit 1 --json", 0, `"sessions": [`, ""},
	} {
		var args []string
		for word := range strings.FieldsSeq(c.line) {
			args = append(args, strings.ReplaceAll(word, "_.", " ."))
		}
		out, notes, code := w.plinth(args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(notes, c.notes) {
			t.Errorf("plinth %s: exit %d, want %d with %q and %q\n%s\n%s", c.line, code, c.code, c.out, c.notes, out, notes)
		}
		if code != 0 && !strings.HasPrefix(lastLine(notes), "plinth: ") {
			t.Errorf("plinth %s says last %q", c.line, lastLine(notes))
		}
	}
}

// TestConfigurationErrors: every command that needs the configuration names the file
// and the line of each mistake, at once, and starts nothing.
func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("config/plinth/config.toml", "modle = \"x\"\nagent = \"Build It\"\n[runner]\nmax_turns = 0\n")
	file := filepath.Join(w.folder, "config/plinth/config.toml")
	for _, line := range [][]string{{"serve"}, {"run", "x"}, {"sessions"}, {"events", "ses_x"}, {"plugins"}, {"token", "list"}} {
		_, notes, code := w.plinth(line...)
		for _, want := range []string{file + ":1: modle: unknown key; known here: model", file + `:2: agent = "Build It": must be a name`, file + ":4: runner.max_turns = 0: must be from 1 to 1000"} {
			if code != 2 || !strings.Contains(notes, want) {
				t.Errorf("plinth %v: exit %d, want 2 and %s\n%s", line, code, want, notes)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(w.folder, "data/plinth/plinth.db")); err == nil {
		t.Error("a store was made")
	}
	w.write("config/plinth/config.toml", "")
	if _, notes, code := w.plinthWith([]string{"PLINTH_MODLE=x"}, "sessions"); code != 2 || !strings.Contains(notes, "PLINTH_MODLE: unknown variable; known are") {
		t.Errorf("a variable: exit %d\n%s", code, notes)
	}
}

// TestCompletion: the scripts are there for every shell, and bash takes its own.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, notes, code := w.plinth("completion", shell)
		if code != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("%s: exit %d with %d bytes\n%s", shell, code, len(out), notes)
		}
	}
	out, _, code := w.plinth("__complete", "run", "--on")
	if code != 0 || !strings.Contains(out, "--on-ask") {
		t.Errorf("completing a flag: exit %d\n%s", code, out)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here to take the script")
		return
	}
	script := exec.CommandContext(t.Context(), bash, "--norc", "-ec", `source <("$0" completion bash); complete -p plinth; declare -F __start_plinth`, binary)
	script.Env = w.environ
	if out, err := script.CombinedOutput(); err != nil || !strings.Contains(string(out), "__start_plinth plinth") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTokens: a token works until it is revoked, with its rights and no others.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.serve()
	secret, notes, code := w.plinth("token", "create", "ci", "--scope", "session:read", "--expires", "1h")
	secret = strings.TrimSpace(secret)
	id := regexp.MustCompile(`tok_\w+`).FindString(notes)
	if code != 0 || id == "" || !strings.HasPrefix(secret, "plinth_") || strings.Contains(secret, "\n") {
		t.Fatalf("exit %d %q\n%s", code, secret, notes)
	}
	with := func(args ...string) (string, int) {
		_, notes, code := w.plinthWith([]string{"PLINTH_TOKEN=" + secret, "PLINTH_SERVER=" + h.address}, args...)
		return notes, code
	}
	if notes, code := with("sessions"); code != 0 {
		t.Errorf("sessions: exit %d\n%s", code, notes)
	}
	if notes, code := with("run", "x"); code != 1 || !strings.Contains(notes, "forbidden: this needs a token with the scope session:write") {
		t.Errorf("run: exit %d\n%s", code, notes)
	}
	out, _, code := w.plinth("token", "list")
	if code != 0 || !strings.Contains(out, id) || !strings.Contains(out, "ci") || !strings.Contains(out, "session:read") || !strings.Contains(out, "expires 2") || strings.Contains(out, secret) {
		t.Errorf("list: exit %d\n%s", code, out)
	}
	follower := w.command([]string{"PLINTH_TOKEN=" + secret, "PLINTH_SERVER=" + h.address}, "events", h.session(w), "--follow")
	pipe, err := follower.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, notes, code := w.plinth("token", "revoke", id); code != 0 {
		t.Errorf("revoke: exit %d\n%s", code, notes)
	}
	if err := follower.Wait(); follower.ProcessState.ExitCode() != 1 {
		t.Errorf("what was open under the token: %v", err)
	}
	if notes, code := with("sessions"); code != 1 || !strings.Contains(notes, "unauthenticated") {
		t.Errorf("after revoking: exit %d\n%s", code, notes)
	}
}

// TestRunJSON: with --json a run prints the session's events and nothing else.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, notes, code := w.plinth("run", "--json", "read go.mod")
	if code != 0 || notes != "" {
		t.Errorf("exit %d\n%s", code, notes)
	}
	last := ""
	for line := range strings.Lines(out) {
		var event protocol.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Cursor == "" {
			t.Fatalf("%v in %s", err, line)
		}
		last = event.Type
	}
	if last != (session.ActivityEnded{}).EventType() {
		t.Errorf("the last event is %q", last)
	}
}

// TestAllowedOrigins: the configured pages, and no others, may call.
func TestAllowedOrigins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("config/plinth/config.toml", "allowed_origins = [\"https://console.example\"]\n")
	d := &doors{world: w, host: w.serve()}
	for origin, want := range map[string]int{"https://console.example": http.StatusNoContent, "https://evil.example": http.StatusForbidden} {
		status, header, _ := d.http(call{method: http.MethodOptions, path: "/v1/sessions",
			header: map[string]string{"Authorization": "", "Origin": origin, "Access-Control-Request-Method": "POST"}})
		if status != want || (header.Get("Access-Control-Allow-Origin") == origin) != (want == http.StatusNoContent) {
			t.Errorf("%s: %d %v", origin, status, header)
		}
	}
}
