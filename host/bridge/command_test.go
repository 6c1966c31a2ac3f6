package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
)

func TestACommandRuns(t *testing.T) {
	r := newRig(t).stored(t).running(t, process.Options{})
	output := func(text string) abi.ProcessOutput { return abi.ProcessOutput{Head: text, Total: int64(len(text))} }
	tests := []struct {
		request string
		want    abi.ProcessRan
	}{
		{`{"command":"printf hello"}`, abi.ProcessRan{Output: output("hello")}},
		{`{"command":"pwd"}`, abi.ProcessRan{Output: output(r.location.Directory + "\n")}},
		{`{"command":"pwd","path":{"path":"sub"}}`, abi.ProcessRan{Output: output(r.location.Directory + "/sub\n")}},
		{`{"command":"pwd","path":{"root":"project","path":""}}`, abi.ProcessRan{Output: output(r.location.Root + "\n")}},
		{`{"command":"cat","input":"fed"}`, abi.ProcessRan{Output: output("fed")}},
		{`{"command":"printf \"$A$B\"","environment":{"B":"2'","A":"1"}}`, abi.ProcessRan{Output: output("12'")}},
		{`{"command":"printf out; printf err >&2; exit 3","apart":true}`, abi.ProcessRan{ExitCode: 3, Output: output("out"), Errors: output("err")}},
		{`{"command":"kill -TERM $$"}`, abi.ProcessRan{ExitCode: -1, Signal: "SIGTERM", Output: abi.ProcessOutput{}}},
		{`{"command":"no-such-program-anywhere 2>/dev/null"}`, abi.ProcessRan{ExitCode: 127}},
	}
	for _, test := range tests {
		got := read[abi.ProcessRan](t, r.ask(t, abi.OpProcessRun, test.request))
		got.DurationMS = 0
		test.want.Sandbox, test.want.SandboxNote = "none", "it is switched off"
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.request, diff)
		}
	}
	stopped := read[abi.ProcessRan](t, r.ask(t, abi.OpProcessRun, `{"command":"while :; do :; done","timeout_ms":50}`))
	if stopped.Stopped != "timeout" || stopped.DurationMS < 50 {
		t.Errorf("%+v", stopped)
	}
	long := read[abi.ProcessRan](t, r.ask(t, abi.OpProcessRun, `{"command":"i=0; while [ $i -lt 9000 ]; do echo $i; i=$((i+1)); done"}`))
	if long.Output.Blob == nil || long.Output.Omitted == 0 {
		t.Fatalf("%+v", long)
	}
	whole, err := r.reach.Blobs.Get(t.Context(), long.Output.Blob.Digest)
	if err != nil || int64(len(whole)) != long.Output.Total || !strings.HasSuffix(string(whole), "\n8999\n") {
		t.Errorf("%d bytes are kept of %d, %v", len(whole), long.Output.Total, err)
	}
}

// What a person is asked is every command of the line with the variables that the
// guest adds, and where nobody can tell, the line as it is written. The patterns of
// an approval for always are the host's.
func TestWhatIsAskedOfACommand(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bash := func(save []string, resources ...string) session.PermissionRequest {
		return session.PermissionRequest{Action: "bash", Resources: resources, Save: save, Before: true}
	}
	external := session.PermissionRequest{Action: "external_directory", Resources: []string{elsewhere + "/*"}, Save: []string{elsewhere + "/*"}, Before: true}
	tests := []struct {
		request abi.ProcessRun
		want    []session.PermissionRequest
	}{
		{abi.ProcessRun{Command: "git status && ls -l | wc"}, []session.PermissionRequest{bash([]string{"git status *", "ls *", "wc *"}, "git status", "ls -l", "wc")}},
		{abi.ProcessRun{Command: "ls", Environment: map[string]string{"LD_PRELOAD": "./evil.so", "A": "it's"}},
			[]session.PermissionRequest{bash(nil, `export 'A=it'\''s'`, "export LD_PRELOAD=./evil.so", "ls", `export A='it'\''s'; export LD_PRELOAD='./evil.so'; ls`)}},
		{abi.ProcessRun{Command: "sh", Input: "rm -rf it's"}, []session.PermissionRequest{bash(nil, "sh", `sh <<< 'rm -rf it'\''s'`)}},
		{abi.ProcessRun{Command: "cat", Input: "text"}, []session.PermissionRequest{bash([]string{"cat *"}, "cat")}},
		{abi.ProcessRun{Command: "touch " + elsewhere + "/made"}, []session.PermissionRequest{external, bash([]string{"touch *"}, "touch "+elsewhere+"/made")}},
		{abi.ProcessRun{Command: "ls", Path: abi.Path{Path: elsewhere}}, []session.PermissionRequest{external, bash([]string{"ls *"}, "ls")}},
	}
	for _, test := range tests {
		r.host.asked, r.host.rules = nil, []session.Rule{rule("*", "*", session.Ask)}
		if failed := failure(t, r.ask(t, abi.OpProcessRun, encoded(t, test.request))); failed.Kind != "" {
			t.Errorf("%s: %+v", test.request.Command, failed)
		}
		if diff := cmp.Diff(test.want, r.host.asked); diff != "" {
			t.Errorf("%s: %s", test.request.Command, diff)
		}
	}
}

// Nothing of a request can hide a command from the rules.
func TestNothingHidesACommand(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	victim := filepath.Join(r.location.Directory, "a.txt")
	r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule("bash", "rm *", session.Deny)}
	for _, request := range []abi.ProcessRun{
		{Command: "rm a.txt"},
		{Command: "true; rm a.txt"},
		{Command: "$(rm a.txt)"},
		{Command: "true `rm a.txt`"},
		{Command: "if true; then rm a.txt; fi"},
		{Command: "f() { rm a.txt; }; f"},
		{Command: "true\nrm a.txt"},
		{Command: "env rm a.txt"},
		{Command: "r''m a.txt"},
		{Command: "rm a.txt", Environment: map[string]string{"A": "1"}},
		{Command: "rm a.txt", Environment: map[string]string{"#": "1"}},
		{Command: "rm a.txt", Environment: map[string]string{"A #": "1"}},
		{Command: "rm a.txt", Environment: map[string]string{"A\n#": "1"}},
		{Command: "rm a.txt", Environment: map[string]string{"A; : <<'": "1"}},
		{Command: "rm a.txt", Environment: map[string]string{"A": "'\n#"}},
		{Command: "rm a.txt", Environment: map[string]string{"A": "\\' #"}},
		{Command: "' #\nrm a.txt", Environment: map[string]string{"A": "\\"}},
	} {
		answer := r.ask(t, abi.OpProcessRun, encoded(t, request))
		if _, err := os.Stat(victim); err != nil {
			t.Fatalf("%+v ran: %s", request, answer)
		}
	}
}

func TestACommandThatIsRefused(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	made := filepath.Join(r.location.Directory, "made")
	deny := []session.Rule{rule("*", "*", session.Allow), rule("bash", "touch*", session.Deny)}
	ask := []session.Rule{rule("bash", "*", session.Ask)}
	long := strings.Repeat("x", MaxCommandBytes)
	tests := []struct {
		name    string
		rules   []session.Rule
		answer  error
		request abi.ProcessRun
		want    string
	}{
		{"denied", deny, nil, abi.ProcessRun{Command: "touch made"}, "denied: bash on touch made is denied by the permission rules"},
		{"one of several denied", deny, nil, abi.ProcessRun{Command: "ls; touch made"}, "denied: bash on touch made is denied by the permission rules"},
		{"refused", ask, &session.DeniedError{Action: "bash", Resource: "touch made", Feedback: "no"}, abi.ProcessRun{Command: "touch made"}, "denied: bash on touch made was refused: no"},
		{"declined", ask, &session.DeniedError{Action: "bash", Resource: "touch made", Declined: true}, abi.ProcessRun{Command: "touch made"}, "denied: bash on touch made was declined"},
		{"interrupted", ask, session.ErrInterrupted, abi.ProcessRun{Command: "touch made"}, "cancelled: the call was cancelled"},
		{"empty", nil, nil, abi.ProcessRun{}, "invalid_input: "},
		{"NUL", nil, nil, abi.ProcessRun{Command: "touch made\x00"}, "invalid_input: "},
		{"too long", nil, nil, abi.ProcessRun{Command: long + "x"}, "limit: command and environment have 65537 bytes; the most is 65536"},
		{"too long a variable", nil, nil, abi.ProcessRun{Command: "touch made", Environment: map[string]string{"A": long}}, "limit: command and environment have 65547 bytes; the most is 65536"},
		{"too much input", nil, nil, abi.ProcessRun{Command: "touch made", Input: strings.Repeat("x", MaxInputBytes+1)}, "limit: "},
		{"too long a time", nil, nil, abi.ProcessRun{Command: "touch made", TimeoutMS: 600_001}, "invalid_input: timeout_ms is 600001; it must be from 1 to 600000, or 0"},
		{"a time that overflows", nil, nil, abi.ProcessRun{Command: "touch made", TimeoutMS: 1 << 62}, "invalid_input: timeout_ms is 4611686018427387904; it must be from 1 to 600000, or 0"},
		{"a time before now", nil, nil, abi.ProcessRun{Command: "touch made", TimeoutMS: -1}, "invalid_input: timeout_ms is -1; it must be from 1 to 600000, or 0"},
		{"a variable that is none", nil, nil, abi.ProcessRun{Command: "touch made", Environment: map[string]string{"A B": ""}}, `invalid_input: environment: "A B" is no name of a variable; it must have letters, digits and _`},
		{"a variable that runs something", nil, nil, abi.ProcessRun{Command: "touch made", Environment: map[string]string{"BASH_ENV": "x"}}, "invalid_input: "},
		{"a file as directory", nil, nil, abi.ProcessRun{Command: "touch made", Path: abi.Path{Path: "a.txt"}}, `invalid_input: path: "a.txt" is no directory`},
		{"no directory", nil, nil, abi.ProcessRun{Command: "touch made", Path: abi.Path{Path: "none"}}, `not_found: "none": no such file or directory`},
		{"a directory of Plinth", nil, nil, abi.ProcessRun{Command: "touch made", Path: abi.Path{Path: "private"}}, `denied: "private": it is in a folder that belongs to Plinth itself`},
		{"a root that is not granted", nil, nil, abi.ProcessRun{Command: "touch made", Path: abi.Path{Root: "output"}}, "denied: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r.host.rules = test.rules; test.rules == nil {
				r.host.rules = allows("*")
			}
			r.host.answer = test.answer
			request := encoded(t, test.request)
			if len(request) >= 1<<20 { // more than the guest takes
				host := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: r.host}, host: r.host}
				body, _, err := abi.DecodeMessage(host.Call(t.Context(), abi.OpProcessRun, abi.EncodeMessage([]byte(request), nil)))
				if refused := failure(t, string(body)); err != nil || !strings.HasPrefix(fmt.Sprintf("%s: %s", refused.Kind, refused.Message), test.want) {
					t.Errorf("%+v, %v", refused, err)
				}
				return
			}
			refused := failure(t, r.ask(t, abi.OpProcessRun, request))
			if !strings.HasPrefix(fmt.Sprintf("%s: %s", refused.Kind, refused.Message), test.want) {
				t.Errorf("%+v", refused)
			}
		})
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("it ran")
	}
}

// A host that is closed, or has too much to do, says so.
func TestACommandWithoutAPlace(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	if err := r.reach.Processes.Close(); err != nil {
		t.Fatal(err)
	}
	if refused := failure(t, r.ask(t, abi.OpProcessRun, `{"command":"ls"}`)); refused.Kind != abi.KindUnavailable {
		t.Errorf("%+v", refused)
	}
}

// Secrets of the host are not in what a command sees.
func TestSecretsAreNotInherited(t *testing.T) {
	for name, value := range map[string]string{"MY_API_KEY": "marker1", "GITHUB_TOKEN": "marker2", "PLINTH_X": "marker3", "INNOCENT": "marker4", "LC_HELD": "marker5", "BASH_ENV": "marker6"} {
		t.Setenv(name, value)
	}
	r := newRig(t).running(t, process.Options{Withhold: []string{"LC_HELD"}})
	ran := read[abi.ProcessRan](t, r.ask(t, abi.OpProcessRun, `{"command":"env; tr '\\0' '\\n' </proc/self/environ 2>/dev/null; true"}`))
	if strings.Contains(ran.Output.Head, "marker") || !strings.Contains(ran.Output.Head, "PATH=") {
		t.Error(ran.Output.Head)
	}
}

// A directory that was replaced while somebody was asked is not entered.
func TestADirectoryIsReplacedWhileItIsAskedFor(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	elsewhere := t.TempDir()
	r.host.rules = []session.Rule{rule("bash", "*", session.Ask), rule("external_directory", "*", session.Deny)}
	sub := filepath.Join(r.location.Directory, "sub")
	answer, err := r.gated(t.Context(), t, func(context.Context, session.PermissionRequest) error {
		return errors.Join(os.Rename(sub, sub+"-before"), os.Symlink(elsewhere, sub))
	}, abi.OpProcessRun, `{"command":"touch made","path":{"path":"sub"}}`)
	if refused := failure(t, answer); err != nil || refused.Kind != abi.KindConflict {
		t.Errorf("%s, %v", answer, err)
	}
	mustFind(t, elsewhere, map[string]string{"made": ""})
}
