package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// project is a project with the session in its folder "work", a configuration
// folder and a private one.
type project struct {
	location session.Location
	reach    *Reach
}

func newProject(t testing.TB) project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"root/AGENTS.md":          "be kind",
		"root/work/a.txt":         "alpha",
		"root/work/.env":          "SECRET=1",
		"root/work/sub/b.txt":     "beta",
		"root/work/private/p.txt": "never",
		"config/AGENTS.md":        "mine",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"root/work/innocent.txt": ".env", "root/work/out": "../AGENTS.md"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	return project{
		location: session.Location{Directory: filepath.Join(base, "root", "work"), Root: filepath.Join(base, "root")},
		reach: &Reach{
			Services: &Services{Config: filepath.Join(base, "config"), Private: []string{filepath.Join(base, "root", "work", "private")},
				Writer: &fsys.Writer{}, Clock: clock{}, Rules: &ruled{rules: rules()}},
			Grants: Grants{Roots: map[string]Access{RootLocation: AccessRead, RootProject: AccessRead, RootConfig: AccessRead}},
		},
	}
}

// rules allow everything, ask for .env and deny sub.
func rules() []session.Rule {
	return []session.Rule{
		{Action: "read", Resource: "*", Effect: session.Allow},
		{Action: "read", Resource: "*.env", Effect: session.Ask},
		{Action: "read", Resource: "sub*", Effect: session.Deny},
		{Action: "read", Resource: "config:secret*", Effect: session.Deny},
	}
}

// operation has a guest ask for an operation from a tool and answers the host's
// answer.
func (p project) operation(t *testing.T, host *toolHost, name, request string) string {
	t.Helper()
	guest := bridgetest.NewAsking().Asks(abi.ExportTool, name, request, `{"ok":{"structured":`, `}}`)
	plugin, _ := loadGuest(t, guest, abi.ExportTool)
	output, err := execute(t, newTool(t, plugin, session.ToolDefinition{}, p.reach), session.ToolCall{Location: p.location, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return string(output.Structured)
}

func denied(message string) string {
	return fmt.Sprintf(`{"error":{"kind":"denied","message":%q}}`, message)
}

// withoutTime takes the modification times out of an answer.
func withoutTime(t *testing.T, answer string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(answer), &value); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var strip func(any)
	strip = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			delete(value, "modified_ms")
			for _, member := range value {
				strip(member)
			}
		case []any:
			for _, member := range value {
				strip(member)
			}
		}
	}
	strip(value)
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestFileOperations(t *testing.T) {
	notGranted := `this plugin has no grant for the root "output"; its manifest must ask for it with [[request.fs]]`
	tests := []struct {
		name, operation, request string
		asked                    string // the resource a person is asked for
		refusal                  error  // that person's
		want                     string
	}{
		{"stat", "fs.stat", `{"path":"a.txt"}`, "", nil, `{"ok":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}`},
		{"stat of the root", "fs.stat", `{"path":""}`, "", nil, `{"ok":{"kind":"directory","name":".","path":".","size":0}}`},
		{"stat where read asks", "fs.stat", `{"path":".env"}`, "", nil, `{"ok":{"kind":"file","name":".env","path":".env","size":8}}`},
		{"stat where read is denied", "fs.stat", `{"path":"sub/b.txt"}`, "", nil, denied("read on sub/b.txt is denied by the permission rules")},
		{"read", "fs.read", `{"path":"a.txt"}`, "", nil, `{"ok":{"data":{"$bytes":[0,5]},"eof":true,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}}`},
		{"read a range", "fs.read", `{"path":"a.txt","offset":1,"length":2}`, "", nil, `{"ok":{"data":{"$bytes":[0,2]},"eof":false,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}}`},
		{"read up to the end", "fs.read", `{"path":"a.txt","offset":3,"length":2}`, "", nil, `{"ok":{"data":{"$bytes":[0,2]},"eof":true,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}}`},
		{"read beyond the end", "fs.read", `{"path":"a.txt","offset":9}`, "", nil, `{"ok":{"data":{"$bytes":[0,0]},"eof":true,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}}`},
		{"read after asking", "fs.read", `{"path":".env"}`, ".env", nil, `{"ok":{"data":{"$bytes":[0,8]},"eof":true,"info":{"kind":"file","name":".env","path":".env","size":8}}}`},
		{"read through a link asks for what it leads to", "fs.read", `{"path":"innocent.txt"}`, ".env", &session.DeniedError{Action: "read", Resource: ".env", Feedback: "not that"},
			denied("read on .env was refused: not that")},
		{"read where a person declines", "fs.read", `{"path":".env"}`, ".env", &session.DeniedError{Action: "read", Resource: ".env", Declined: true}, denied("read on .env was declined")},
		{"read while the host stops", "fs.read", `{"path":".env"}`, ".env", session.ErrShutdown, `{"error":{"kind":"cancelled","message":"the call was cancelled"}}`},
		{"read where the log fails", "fs.read", `{"path":".env"}`, ".env", errors.New("disk full"), `{"error":{"kind":"failed","message":"disk full"}}`},
		{"read is denied", "fs.read", `{"path":"sub/b.txt"}`, "", nil, denied("read on sub/b.txt is denied by the permission rules")},
		{"read a directory", "fs.read", `{"path":"."}`, "", nil, `{"error":{"kind":"invalid_input","message":"\".\": it is a directory; list it instead"}}`},
		{"read nothing", "fs.read", `{"path":"none"}`, "", nil, `{"error":{"kind":"not_found","message":"\"none\": no such file or directory"}}`},
		{"read too much", "fs.read", `{"path":"a.txt","length":1048577}`, "", nil, `{"error":{"kind":"limit","message":"length is 1048577, one fs.read answers at most 1048576 bytes"}}`},
		{"read backwards", "fs.read", `{"path":"a.txt","offset":-1}`, "", nil, `{"error":{"kind":"invalid_input","message":"offset and length must not be negative"}}`},
		{"list leaves out what read denies", "fs.list", `{"path":"."}`, "", nil,
			`{"ok":{"entries":[{"kind":"file","name":".env","path":".env","size":8},{"kind":"file","name":"a.txt","path":"a.txt","size":5},{"kind":"file","name":"innocent.txt","path":".env","size":8}],"path":"."}}`},
		{"list a page", "fs.list", `{"path":".","offset":1,"limit":2}`, "", nil,
			`{"ok":{"entries":[{"kind":"file","name":".env","path":".env","size":8},{"kind":"file","name":"a.txt","path":"a.txt","size":5}],"next":3,"path":"."}}`},
		{"list is denied", "fs.list", `{"path":"sub"}`, "", nil, denied("read on sub is denied by the permission rules")},
		{"list a file", "fs.list", `{"path":"a.txt"}`, "", nil, `{"error":{"kind":"invalid_input","message":"\"a.txt\": it is a file; read it instead"}}`},
		{"outside", "fs.stat", `{"path":"../AGENTS.md"}`, "", nil, ""},
		{"outside through a link", "fs.stat", `{"path":"out"}`, "", nil, ""},
		{"the project's root", "fs.read", `{"root":"project","path":"AGENTS.md"}`, "", nil, `{"ok":{"data":{"$bytes":[0,7]},"eof":true,"info":{"kind":"file","name":"AGENTS.md","path":"AGENTS.md","size":7}}}`},
		{"the project's root asks by the session's directory", "fs.read", `{"root":"project","path":"work/sub/b.txt"}`, "", nil, denied("read on sub/b.txt is denied by the permission rules")},
		{"the configuration", "fs.list", `{"root":"config","path":""}`, "", nil, `{"ok":{"entries":[{"kind":"file","name":"AGENTS.md","path":"AGENTS.md","size":4}],"path":"."}}`},
		{"a private folder", "fs.read", `{"path":"private/p.txt"}`, "", nil, `{"error":{"kind":"denied","message":"\"private/p.txt\": it is in a folder that belongs to Plinth itself"}}`},
		{"a root that is not granted", "fs.read", `{"root":"output","path":"x"}`, "", nil, denied(notGranted)},
		{"an unknown field", "fs.read", `{"path":"a.txt","follow":true}`, "", nil, `{"error":{"kind":"invalid_input","message":"the request cannot be read: json: unknown field \"follow\""}}`},
		{"not JSON", "fs.stat", `path`, "", nil, `{"error":{"kind":"invalid_input","message":"the request cannot be read: invalid character 'p' looking for beginning of value"}}`},
		{"an unknown operation", "fs.shred", `{"path":"a.txt"}`, "", nil, `{"error":{"kind":"unavailable","message":"this host has no operation \"fs.shred\""}}`},
		{"no name", "", `{}`, "", nil, `{"error":{"kind":"unavailable","message":"this host has no operation \"\""}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t)
			host := &toolHost{rules: rules(), answer: test.refusal}
			if test.want == "" {
				name := "../AGENTS.md"
				if test.name != "outside" {
					name = "out"
				}
				test.want = denied(fmt.Sprintf("%q: it leads outside the folder %q; give the absolute path of what it leads to", name, p.location.Directory))
			}
			if diff := cmp.Diff(withoutTime(t, test.want), withoutTime(t, p.operation(t, host, test.operation, test.request))); diff != "" {
				t.Error(diff)
			}
			var asked []session.PermissionRequest
			if test.asked != "" {
				asked = []session.PermissionRequest{{Action: "read", Resources: []string{test.asked}, Save: []string{test.asked}, Before: true}}
			}
			if diff := cmp.Diff(asked, host.asked); diff != "" {
				t.Errorf("asked: %s", diff)
			}
		})
	}
}

// A name that is a pattern can be allowed once, but not for always: it would allow
// other files too.
func TestAPatternIsNotSaved(t *testing.T) {
	p := newProject(t)
	for _, name := range []string{"*", "a?.txt", `a\b`} {
		if err := os.WriteFile(filepath.Join(p.location.Directory, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		host := &toolHost{rules: []session.Rule{{Action: "read", Resource: "*", Effect: session.Ask}}}
		request, err := json.Marshal(abi.FSRead{Path: abi.Path{Path: name}})
		if err != nil {
			t.Fatal(err)
		}
		p.operation(t, host, "fs.read", string(request))
		want := []session.PermissionRequest{{Action: "read", Resources: []string{name}, Before: true}}
		if diff := cmp.Diff(want, host.asked); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

// A grant of one root needs no other: the configuration folder may not exist.
func TestOneRootNeedsNoOther(t *testing.T) {
	p := newProject(t)
	p.reach.Config = ""
	want := `{"ok":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}`
	if got := withoutTime(t, p.operation(t, &toolHost{rules: rules()}, "fs.stat", `{"path":"a.txt"}`)); got != want {
		t.Error(got)
	}
	p.reach.Roots = nil
	want = denied(`this plugin has no grant for the root "location"; its manifest must ask for it with [[request.fs]]`)
	if got := p.operation(t, &toolHost{rules: rules()}, "fs.stat", `{"path":"a.txt"}`); got != want {
		t.Error(got)
	}
}

// The bytes themselves arrive: the committed core/files reads a file.
func TestFilesReachTheGuest(t *testing.T) {
	p := newProject(t)
	tool := newTool(t, loadBuiltin(t, "core/files", abi.ExportTool), session.ToolDefinition{}, p.reach)
	tool.name = "read"
	host := &toolHost{rules: rules()}
	for input, want := range map[string]string{
		`{"path":"a.txt"}`: "alpha",
		`{"path":".env"}`:  "SECRET=1",
		`{"path":"."}`:     ".env\na.txt\ninnocent.txt",
	} {
		output, err := execute(t, tool, session.ToolCall{Input: []byte(input), Location: p.location, Host: host})
		if err != nil || len(output.Content) != 1 || output.Content[0].Text != want {
			t.Errorf("%s: %+v, %v", input, output, err)
		}
	}
	_, err := execute(t, tool, session.ToolCall{Input: []byte(`{"path":"sub/b.txt"}`), Location: p.location, Host: host})
	wantTold(t, err, abi.KindDenied, "read on sub/b.txt is denied by the permission rules")
}
