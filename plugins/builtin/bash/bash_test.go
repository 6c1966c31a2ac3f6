package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// call runs the tool on a host that answers every command so.
func call(t *testing.T, in string, ran abi.ProcessRan) (text string, out result, asked abi.ProcessRun, err error) {
	t.Helper()
	h := &plinthtest.Host{Operations: map[string]plinthtest.Operation{
		abi.OpProcessRun: func(request json.RawMessage, _ []byte) (any, []byte, error) {
			return ran, nil, json.Unmarshal(request, &asked)
		},
	}}
	h.Serve(t)
	output, err := plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{Tool: "bash", Input: json.RawMessage(in)})
	if err != nil {
		return "", out, asked, err
	}
	if err := json.Unmarshal(output.Structured, &out); err != nil {
		t.Fatal(err)
	}
	return output.Content[0].Text, out, asked, nil
}

func printed(text string) abi.ProcessOutput {
	return abi.ProcessOutput{Head: text, Total: int64(len(text))}
}

// What the model is told of how a command ended.
func TestEndings(t *testing.T) {
	const refusal = "\nThe sandbox refuses writes outside of the project, temporary folders and caches. If the command needs another folder, ask the user to add it to process.sandbox_write."
	for _, test := range []struct {
		in   string
		ran  abi.ProcessRan
		want string
	}{
		{`{"command":"ls"}`, abi.ProcessRan{Output: printed("a\nb\n")}, "a\nb\n\nCommand exited with code 0."},
		{`{"command":"ls"}`, abi.ProcessRan{}, "(no output)\n\nCommand exited with code 0."},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: 2, Output: printed("no"), Sandbox: "landlock"}, "no\n\nCommand exited with code 2."},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: -1, Signal: "SIGSEGV"}, "(no output)\n\nThe command was ended by SIGSEGV."},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: -1, Signal: "SIGTERM", Stopped: "timeout", Output: printed("part\n")},
			"part\n\nThe command was ended at its timeout of 120000 ms. If it needs longer, give a larger timeout_ms, up to 600000."},
		{`{"command":"ls","timeout_ms":600000}`, abi.ProcessRan{Stopped: "timeout"}, "(no output)\n\nThe command was ended at its timeout of 600000 ms, the longest. Do less at a time."},
		{`{"command":"ls"}`, abi.ProcessRan{Stopped: "flood"}, "(no output)\n\nThe command was ended because it printed too much. Print less, or into a file."},
		{`{"command":"ls"}`, abi.ProcessRan{Stopped: "crowd"}, "(no output)\n\nThe command was ended because it had too many processes at once."},
		{`{"command":"ls &"}`, abi.ProcessRan{Background: 1}, "(no output)\n\nCommand exited with code 0.\nIt left 1 process in the background, which was ended."},
		{`{"command":"ls &"}`, abi.ProcessRan{Background: 2}, "(no output)\n\nCommand exited with code 0.\nIt left 2 processes in the background, which were ended."},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: 1, Output: printed("touch: /x: Permission denied\n"), Sandbox: "landlock"},
			"touch: /x: Permission denied\n\nCommand exited with code 1." + refusal},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: 1, Output: printed("npm error code EACCES"), Sandbox: "landlock"}, "npm error code EACCES\n\nCommand exited with code 1." + refusal},
		{`{"command":"curl x"}`, abi.ProcessRan{ExitCode: 7, Output: printed("Couldn't connect to server"), Sandbox: "landlock", SandboxNote: "no TCP"}, "Couldn't connect to server\n\nCommand exited with code 7.\nOf the sandbox: no TCP."},
		{`{"command":"curl x"}`, abi.ProcessRan{ExitCode: 7, Output: printed("Couldn't connect to server"), Sandbox: "landlock"}, "Couldn't connect to server\n\nCommand exited with code 7."},
		{`{"command":"serve"}`, abi.ProcessRan{ExitCode: 1, Output: printed("bind: permission denied"), Sandbox: "landlock", SandboxNote: "no TCP"}, "bind: permission denied\n\nCommand exited with code 1." + refusal + "\nOf the sandbox: no TCP."},
		{`{"command":"ls"}`, abi.ProcessRan{ExitCode: 1, Output: printed("Permission denied"), Sandbox: "none"}, "Permission denied\n\nCommand exited with code 1."},
		{`{"command":"ls"}`, abi.ProcessRan{Output: printed("Permission denied"), Sandbox: "landlock"}, "Permission denied\n\nCommand exited with code 0."},
	} {
		if got, _, _, err := call(t, test.in, test.ran); err != nil || got != test.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", test.ran, got, err, test.want)
		}
	}
}

// A long output is told by its two ends, within the lines that the host shows.
func TestLongOutput(t *testing.T) {
	lines := strings.Repeat("y\n", 7680)
	text, out, _, err := call(t, `{"command":"yes"}`, abi.ProcessRan{Output: abi.ProcessOutput{Head: lines, Tail: lines, Omitted: 1000, Total: 31720, Path: "/kept/tool_1"}})
	if err != nil || !out.Truncated || out.Path != "/kept/tool_1" || out.Bytes != 31720 {
		t.Errorf("%+v, %v", out, err)
	}
	if n := strings.Count(text, "\n"); n > 1900 || strings.Count(text, "y\n") != 1800 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(text, "\n\n(28120 of 31720 bytes are left out here; the whole output is in /kept/tool_1)\n\ny\n") {
		t.Errorf("%q", text[1700:2000])
	}
	text, _, _, _ = call(t, `{"command":"yes"}`, abi.ProcessRan{Output: abi.ProcessOutput{Head: "head", Tail: "tail", Omitted: 2, Total: 10}})
	if text != "head\n\n(2 of 10 bytes are left out here)\n\ntail\n\nCommand exited with code 0." {
		t.Errorf("%q", text)
	}
}

// What is asked of the host, and what is said to a person and to programs.
func TestWhatIsAsked(t *testing.T) {
	_, out, asked, err := call(t, `{"command":"make\ntest","workdir":"sub","timeout_ms":5}`, abi.ProcessRan{ExitCode: 3, DurationMS: 4, Sandbox: "none", SandboxNote: "it is switched off"})
	if err != nil || asked.Command != "make\ntest" || asked.Path != (abi.Path{Path: "sub"}) || asked.TimeoutMS != 5 || asked.Apart {
		t.Errorf("%+v, %v", asked, err)
	}
	if want := (result{ExitCode: 3, TimeoutMS: 5, DurationMS: 4, Sandbox: "none", SandboxNote: "it is switched off"}); out != want {
		t.Errorf("%+v", out)
	}
	for in, want := range map[string]string{
		`{"command":" make\ntest"}`: "make", `{"command":"x","description":"Runs it"}`: "Runs it",
		`{"command":"` + strings.Repeat("é", 81) + `"}`: strings.Repeat("é", 80) + "…",
	} {
		var parsed input
		if err := json.Unmarshal([]byte(in), &parsed); err != nil || parsed.title() != want {
			t.Errorf("%s: %q, %v", in, parsed.title(), err)
		}
	}
}

func TestWrongInput(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":" "}`:                     "command is empty; give a command line",
		`{"command":"a\u0000b"}`:              "command has a NUL character in it",
		`{"command":"a","workdir":"\u0000"}`:  "workdir has a NUL character in it",
		`{"command":"a","timeout_ms":0}`:      "timeout_ms is 0; it is from 1 to 600000",
		`{"command":"a","timeout_ms":600001}`: "timeout_ms is 600001; it is from 1 to 600000",
		`{"command":"a","timeout":1}`:         `the input of bash: json: unknown field "timeout"`,
	} {
		_, _, asked, err := call(t, in, abi.ProcessRan{})
		if err == nil || err.Error() != "invalid_input: "+want || asked.Command != "" {
			t.Errorf("%s: %v, %+v", in, err, asked)
		}
	}
}

func TestEndsOfLines(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, maxLines: maxLines, maxLines + 1: maxLines} {
		for _, end := range []string{"", "x"} {
			text := strings.Repeat("l\n", n) + end
			if got := strings.Count(firstLines(text), "\n"); got != want {
				t.Errorf("first of %d%q: %d", n, end, got)
			}
			if got := strings.Count(lastLines(text), "\n"); got > want || fmt.Sprint(strings.HasSuffix(text, lastLines(text))) != "true" {
				t.Errorf("last of %d%q: %d", n, end, got)
			}
		}
	}
}
