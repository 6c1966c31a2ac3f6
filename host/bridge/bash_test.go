package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/outputs"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The cases of bash and webfetch, by the committed plugins over the real operations.
func TestCasesOfBash(t *testing.T) {
	sessiontest.Cases(t, "I", []sessiontest.Case{
		{Number: 247, Text: "For a working directory outside of the project bash asks for external_directory and then for bash; a denial of either runs nothing.", Run: bashOutside},
		{Number: 248, Text: "A command that names an absolute path outside of the project is told a warning and runs.",
			Ours: "Its folder is asked for as external_directory, and a denial keeps the command from running: what a line leads to is known before it runs.", Run: bashNamesOutside},
		{Number: 250, Text: "Of 2 MiB of output the model is told that some is left out, and the structured result says that it is truncated.",
			Ours: "Both ends are shown, 15 KiB each, and the file with the whole is named.", Run: bashPrintsMuch},
		{Number: 251, Text: "webfetch refuses ftp: and a timeout of 121 before permission, asks for localhost as for any address, refuses images and more than 5 MiB, declared or streamed, and answers a challenge of Cloudflare once with a plain agent.",
			Ours: "A server elsewhere cannot redirect to this machine.", Run: webfetchCase},
	})
}

// builtinTool is a tool of a committed plugin.
func (r *rig) builtinTool(t *testing.T, id, name string) *Tool {
	t.Helper()
	tool, err := NewTool(loadBuiltin(t, id, abi.ExportTool), session.ToolDefinition{Name: name, Input: []byte(anything)}, r.reach)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// use calls a tool and answers its text and its structured output.
func (r *rig) use(t *testing.T, tool *Tool, input any) (text string, structured map[string]any, err error) {
	t.Helper()
	output, err := tool.Execute(t.Context(), session.ToolCall{Session: "ses_1", Timeout: time.Minute, Input: []byte(encoded(t, input)), Location: r.location, Host: r.host})
	if err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(output.Structured, &structured); err != nil {
		t.Fatal(err)
	}
	return output.Content[0].Text, structured, nil
}

type fields map[string]any

func newBash(t *testing.T, sandbox process.Sandbox) (*rig, *Tool) {
	t.Helper()
	r := newRig(t).stored(t).running(t, process.Options{Sandbox: sandbox})
	r.reach.Kept = outputs.New(outputs.Options{Folder: filepath.Join(t.TempDir(), "kept")})
	return r, r.builtinTool(t, "core/bash", "bash")
}

func elsewhere(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	var told *session.ToolError
	if !errors.As(err, &told) || told.Kind != string(abi.KindDenied) {
		t.Errorf("%v", err)
	}
}

func bashOutside(t *testing.T) {
	r, bash := newBash(t, process.Sandbox{})
	outside := elsewhere(t)
	command := fields{"command": "touch made", "workdir": outside}
	for _, denied := range []string{"external_directory", "bash"} {
		r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule(denied, "*", session.Deny)}
		_, _, err := r.use(t, bash, command)
		wantDenied(t, err)
	}
	mustFind(t, outside, map[string]string{"made": ""})
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	if text, _, err := r.use(t, bash, command); err != nil || text != "(no output)\n\nCommand exited with code 0." {
		t.Errorf("%q, %v", text, err)
	}
	var asked []string
	for _, request := range r.host.asked {
		asked = append(asked, request.Action+" "+strings.Join(request.Resources, ", "))
	}
	if diff := cmp.Diff([]string{"external_directory " + outside + "/*", "bash touch made"}, asked); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(outside, "made")); err != nil {
		t.Error(err)
	}
}

func bashNamesOutside(t *testing.T) {
	r, bash := newBash(t, process.Sandbox{})
	outside := elsewhere(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule("external_directory", "*", session.Deny)}
	_, _, err := r.use(t, bash, fields{"command": "touch " + outside + "/made"})
	wantDenied(t, err)
	mustFind(t, outside, map[string]string{"made": ""})
}

func bashPrintsMuch(t *testing.T) {
	r, bash := newBash(t, process.Sandbox{})
	text, structured, err := r.use(t, bash, fields{"command": "i=0; while [ $i -lt 131072 ]; do echo 0123456789abcde; i=$((i+1)); done"})
	if err != nil || structured["truncated"] != true || structured["bytes"] != float64(2<<20) {
		t.Fatalf("%v, %v", structured, err)
	}
	path, _ := structured["path"].(string)
	if !strings.Contains(text, " of 2097152 bytes are left out here; the whole output is in "+path+")") || len(text) > 32<<10 || strings.Count(text, "\n") > 1999 {
		t.Errorf("%d bytes: %q", len(text), text[len(text)-200:])
	}
	if whole, err := os.ReadFile(path); err != nil || len(whole) != 2<<20 {
		t.Errorf("%d bytes are kept, %v", len(whole), err)
	}
}

// A command's end is a result, whatever it is, and its lines are shown while it runs.
func TestBashTellsHowItWent(t *testing.T) {
	r, bash := newBash(t, process.Sandbox{})
	if text, structured, err := r.use(t, bash, fields{"command": "echo out; echo err >&2; exit 3"}); err != nil || text != "out\nerr\n\nCommand exited with code 3." || structured["exit_code"] != 3.0 || structured["sandbox"] != "none" {
		t.Errorf("%q, %v, %v", text, structured, err)
	}
	text, structured, err := r.use(t, bash, fields{"command": "echo begun; while :; do :; done", "timeout_ms": 700})
	if err != nil || structured["stopped"] != "timeout" || !strings.HasPrefix(text, "begun\n\nThe command was ended at its timeout of 700 ms.") {
		t.Errorf("%q, %v, %v", text, structured, err)
	}
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	if len(r.host.progress) == 0 || strings.TrimSpace(r.host.progress[0]) != "begun" {
		t.Errorf("shown: %q", r.host.progress)
	}
}

// A write that the sandbox refuses is a result that says so.
func TestBashInTheSandbox(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox is Linux's")
	}
	r, bash := newBash(t, process.Sandbox{Mode: process.ModeAuto})
	if found := r.reach.Processes.Confinement(); found.Kind == process.SandboxNone {
		t.Skip(found.Reason)
	}
	outside := elsewhere(t)
	text, structured, err := r.use(t, bash, fields{"command": "echo x >inside && cat inside && touch " + outside + "/made"})
	if err != nil || structured["sandbox"] != "landlock" || structured["exit_code"] == 0.0 || !strings.HasPrefix(text, "x\n") || !strings.Contains(text, "\nThe sandbox refuses writes outside of the project, ") {
		t.Errorf("%q, %v, %v", text, structured, err)
	}
	mustFind(t, outside, map[string]string{"made": ""})
}

// A command that may have failed for the network it has not is a result that says so.
func TestBashWithoutANetwork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox is Linux's")
	}
	r, bash := newBash(t, process.Sandbox{Mode: process.ModeAuto, NoNetwork: true})
	if found := r.reach.Processes.Confinement(); !found.NoNetwork {
		t.Skip(found.Reason)
	}
	const note = "TCP connections and listeners are refused"
	text, structured, err := r.use(t, bash, fields{"command": "echo cannot connect; false"})
	if err != nil || structured["sandbox_note"] != note || !strings.HasSuffix(text, "\nOf the sandbox: "+note+".") {
		t.Errorf("%q, %v, %v", text, structured, err)
	}
	if text, _, err := r.use(t, bash, fields{"command": "echo wrong; false"}); err != nil || text != "wrong\n\nCommand exited with code 1." {
		t.Errorf("%q, %v", text, err)
	}
}

// newWebfetch gives the rig the tool and a server on this machine.
func newWebfetch(t *testing.T, serve http.HandlerFunc) (r *rig, tool *Tool, url string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	fetcher, err := egress.NewFetcher(egress.FetcherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fetcher.Close() })
	r = newRig(t).stored(t)
	r.reach.Fetcher, r.reach.AnyURL = fetcher, true
	r.host.rules = []session.Rule{rule("webfetch", "*", session.Ask)}
	return r, r.builtinTool(t, "core/webfetch", "webfetch"), server.URL
}

func webfetchCase(t *testing.T) {
	agents := map[string][]string{}
	r, webfetch, url := newWebfetch(t, func(w http.ResponseWriter, request *http.Request) {
		agents[request.URL.Path] = append(agents[request.URL.Path], request.UserAgent())
		w.Header().Set("Content-Type", "text/html")
		switch request.URL.Path {
		case "/page":
			fmt.Fprint(w, "<title>Here</title><p>hello <b>you</b>")
		case "/declared":
			w.Header().Set("Content-Length", "5242881")
			_, _ = io.WriteString(w, strings.Repeat("x", 5<<20+1))
		case "/streamed":
			for range 81 {
				_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
			}
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG")
		case "/challenge":
			if len(agents[request.URL.Path]) == 1 {
				w.Header().Set("cf-mitigated", "challenge")
				w.WriteHeader(http.StatusForbidden)
			}
		}
	})
	for in, kind := range map[string]abi.Kind{`{"url":"ftp://x.example/"}`: abi.KindInvalidInput, `{"url":"` + url + `/page","timeout_s":121}`: abi.KindInvalidInput} {
		_, _, err := r.use(t, webfetch, json.RawMessage(in))
		var told *session.ToolError
		if !errors.As(err, &told) || told.Kind != string(kind) || len(r.host.asked) > 0 {
			t.Errorf("%s: %v, asked %v", in, err, r.host.asked)
		}
	}
	text, structured, err := r.use(t, webfetch, fields{"url": strings.Replace(url, "127.0.0.1", "localhost", 1) + "/page"})
	if err != nil || text != "# Here\n\nhello **you**" || structured["title"] != "Here" {
		t.Errorf("%q, %v, %v", text, structured, err)
	}
	if len(r.host.asked) != 1 || r.host.asked[0].Action != "webfetch" || !strings.HasPrefix(r.host.asked[0].Resources[0], "http://localhost:") {
		t.Errorf("asked %+v", r.host.asked)
	}
	for path, kind := range map[string]abi.Kind{"/declared": abi.KindLimit, "/streamed": abi.KindLimit, "/image": abi.KindInvalidInput} {
		_, _, err := r.use(t, webfetch, fields{"url": url + path})
		var told *session.ToolError
		if !errors.As(err, &told) || told.Kind != string(kind) {
			t.Errorf("%s: %v", path, err)
		}
	}
	r.host.asked = nil
	if _, _, err := r.use(t, webfetch, fields{"url": url + "/challenge"}); err != nil {
		t.Error(err)
	}
	if got := agents["/challenge"]; len(got) != 2 || got[0] == got[1] || got[1] != "plinth" {
		t.Errorf("%q", got)
	}
	r.host.answer = &session.DeniedError{Action: "webfetch", Resource: url, Declined: true}
	_, _, err = r.use(t, webfetch, fields{"url": url + "/refused"})
	if wantDenied(t, err); len(agents["/refused"]) > 0 {
		t.Error("it was fetched")
	}
}

// A page of half a MiB is told within the tool's time.
func TestWebfetchTakesLargePages(t *testing.T) {
	piece := "<div><a href=/x>a<b>b</b></a><li><p>text &amp; more</div>"
	page := strings.Repeat(piece, (512<<10)/len(piece))
	r, webfetch, url := newWebfetch(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	})
	begun := time.Now()
	text, structured, err := r.use(t, webfetch, fields{"url": url})
	if err != nil || structured["truncated"] != false || strings.Count(text, "text & more") != strings.Count(page, "<div>") {
		t.Errorf("%v, %v", structured, err)
	}
	t.Logf("512 KiB took %v", time.Since(begun))
}
