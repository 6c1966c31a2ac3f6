package expand_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// rig is an expander over a real kernel and a project of a few files.
type rig struct {
	*sessiontest.World
	t        *testing.T
	expander *expand.Expander
	session  session.Session
	base     string // with the project, and with what lies outside of it
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func newRig(t *testing.T, rules []session.Rule, change ...func(*expand.Options)) *rig {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, base: base}
	for name, content := range map[string]string{
		"project/main.go": "package main\n\nfunc main() {\n}\n", "project/with space.txt": "spaced", "project/empty": "",
		"project/.env": "KEY=1", "project/src/a.go": "package a", "project/src/sub/b.go": "package b", "project/src/secret.key": "k",
		"project/logo.png": png, "project/data.bin": "a\x00b\xff", "project/explore": "a file with an agent's name",
		"project/big.log": strings.Repeat("0123456789abcde\n", 10_000), "project/wide.txt": strings.Repeat("日", 40_000),
		"outside/other.txt": "elsewhere", "docs/guide.md": "a guide", "private/plinth.db": "x",
	} {
		r.write(name, content)
	}
	for link, target := range map[string]string{"project/out": "outside", "project/in.go": "project/main.go"} {
		if err := os.Symlink(filepath.Join(base, target), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	r.World = sessiontest.New(t, sessiontest.Options{Rules: rules, Agents: []session.Agent{{Name: "worker", Mode: session.AgentPrimary}, {Name: "lonely", Mode: session.AgentPrimary,
		Rules: []session.Rule{{Action: "task", Resource: "*", Effect: session.Deny}}}}})
	processes, err := process.New(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processes.Close() })
	options := expand.Options{
		Rules: r.Permissions, Agents: r.Agents, Blobs: r.Log.Blobs(), FileType: protocol.FileType, Private: []string{filepath.Join(base, "private")},
		References: []expand.Reference{{Name: "docs", Path: filepath.Join(base, "docs"), Description: "the guides"}, {Name: "gone", Path: filepath.Join(base, "gone")}},
		Runner:     &expand.Runner{Processes: processes, Scrub: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }},
		Outputs:    r.Outputs,
		Commands: []expand.Command{
			{Name: "review", Template: "Review $1.\n!`echo one; echo $1`\nand @main.go", Agent: "worker", Model: "scripted/m2", Variant: "high"},
			{Name: "fails", Template: "!`echo half; false`!`touch ran`"},
		},
	}
	for _, one := range change {
		one(&options)
	}
	r.expander = expand.New(options)
	s, _, err := r.Sessions.Create(t.Context(), session.System(), session.CreateRequest{Directory: filepath.Join(base, "project")})
	if err != nil {
		t.Fatal(err)
	}
	r.session = s
	return r
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) request(text string) expand.Request {
	return expand.Request{Session: r.session, Prompt: session.Prompt{Text: text}}
}

func (r *rig) expand(request expand.Request) session.Prompt {
	r.t.Helper()
	prompt, err := r.expander.Expand(r.t.Context(), request)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, source := range sources(prompt) {
		if source != nil && prompt.Text[source.Start:source.End] != source.Text {
			r.t.Errorf("%q stands at %d, not %q", prompt.Text[source.Start:source.End], source.Start, source.Text)
		}
	}
	return prompt
}

func sources(prompt session.Prompt) (all []*session.PromptSource) {
	for _, file := range prompt.Files {
		all = append(all, file.Source)
	}
	for _, agent := range prompt.Agents {
		all = append(all, agent.Source)
	}
	for _, reference := range prompt.References {
		all = append(all, reference.Source)
	}
	for _, note := range prompt.Notes {
		all = append(all, note.Source)
	}
	return all
}

func (r *rig) blob(digest string) string {
	r.t.Helper()
	reader, _, err := r.Log.Blobs().Open(r.t.Context(), digest)
	if err != nil {
		r.t.Fatal(err)
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(content)
}

// shown is a prompt in few words: files with their content, then what else is in it.
func (r *rig) shown(prompt session.Prompt) []string {
	r.t.Helper()
	var all []string
	for _, file := range prompt.Files {
		content := r.blob(file.Blob)
		if file.Mime != "text/plain" {
			content = ""
		}
		all = append(all, strings.TrimSpace(file.Mime+" "+file.Path+" "+file.Name+": "+clipped(content)))
	}
	for _, agent := range prompt.Agents {
		all = append(all, "agent "+agent.Name)
	}
	for _, reference := range prompt.References {
		all = append(all, "reference "+reference.Name+" "+strings.TrimPrefix(reference.Path, r.base)+" "+reference.Description)
	}
	for _, note := range prompt.Notes {
		kind := "note"
		if note.Failed {
			kind = "failed"
		}
		all = append(all, kind+" "+note.Kind+": "+strings.ReplaceAll(note.Text, r.base, ""))
	}
	return all
}

func clipped(text string) string {
	if len(text) > 60 {
		return text[:20] + "…"
	}
	return text
}

// TestExpand is the table of texts and what becomes of them.
func TestExpand(t *testing.T) {
	r := newRig(t, []session.Rule{{Action: "read", Resource: "src/secret.key", Effect: session.Deny}})
	const asks = " would have to be asked for, and a mention asks nobody; allow it in the permission rules, or attach the file"
	for text, want := range map[string][]string{
		"nothing":                        nil,
		"@main.go":                       {"text/plain main.go main.go: package main\n\nfunc main() {\n}"},
		"@./main.go and @src/../main.go": {"text/plain main.go main.go: package main\n\nfunc main() {\n}"},
		"@in.go":                         {"text/plain main.go main.go: package main\n\nfunc main() {\n}"},
		"@main.go#L1":                    {"text/plain main.go main.go#L1: package main"},
		"@main.go#L3-4 @main.go#L3-4":    {"text/plain main.go main.go#L3-4: func main() {\n}"},
		"@main.go#L4-99":                 {"text/plain main.go main.go#L4-99: }"},
		"@main.go#L5":                    {"failed file: @main.go#L5 could not be used: line 5 was not found; it has 4"},
		"@main.go#L4-2":                  {"failed file: @main.go#L4-2 could not be used: 4 to 2 are no lines; the first line is 1"},
		"@main.go#L0":                    {"failed file: @main.go#L0 could not be used: 0 to 0 are no lines; the first line is 1"},
		`@"with space.txt"`:              {"text/plain with space.txt with space.txt: spaced"},
		"@src":                           {"text/plain src/ src/: Folder src/\nsub/\na.go"},
		"@src/":                          {"text/plain src/ src/: Folder src/\nsub/\na.go"},
		"@src#L1":                        {"failed file: @src#L1 could not be used: a folder has no lines"},
		"@logo.png":                      {"image/png logo.png logo.png:"},
		"@logo.png#L1":                   {"failed file: @logo.png#L1 could not be used: a file of the type image/png has no lines"},
		"@data.bin":                      {"failed file: @data.bin could not be used: it is neither UTF-8 text nor an image or a PDF"},
		"@empty":                         {"failed file: @empty could not be used: it is empty"},
		"@missing.go":                    {"failed file: @missing.go could not be used: no such file or directory"},
		"@nobody":                        {"failed mention: @nobody could not be used: there is no agent, reference or file of that name"},
		"@src/secret.key":                {"failed file: @src/secret.key could not be used: read on src/secret.key is denied by the permission rules"},
		"@.env":                          {"failed file: @.env could not be used: read on .env" + asks},
		"@../outside/other.txt":          {"failed file: @../outside/other.txt could not be used: external_directory on /outside/*" + asks},
		"@../outside/missing.txt":        {"failed file: @../outside/missing.txt could not be used: external_directory on /outside/*" + asks},
		"@out/other.txt":                 {"failed file: @out/other.txt could not be used: it leads outside the folder \"/project\"; give the absolute path of what it leads to"},
		"@/etc/passwd":                   {"failed file: @/etc/passwd could not be used: external_directory on /etc/*" + asks},
		"@explore":                       {"agent explore"},
		"@explore and @explore":          {"agent explore"},
		"@./explore":                     {"text/plain explore explore: a file with an agent's name"},
		"@build":                         {"failed agent: @build could not be used: the agent build takes no tasks, for its mode is primary"},
		"@title":                         {"failed mention: @title could not be used: there is no agent, reference or file of that name"},
		"@docs":                          {"reference docs /docs the guides"},
		"@gone":                          {"failed reference: @gone could not be used: the reference gone leads to /gone, which is not there"},
		"`@main.go` a@main.go":           nil,
		"@big.log": {"text/plain big.log big.log: 0123456789abcde\n0123…",
			"note file: @big.log: only the first 102400 of its 160000 bytes are attached; name lines, like #L100-200, or read the rest with a tool"},
		"@big.log#L9999":     {"text/plain big.log big.log#L9999: 0123456789abcde"},
		"@big.log#L10-10000": {"text/plain big.log big.log#L10-10000: 0123456789abcde\n0123…", "note file: @big.log#L10-10000: these lines have more than 102400 bytes; only their beginning is attached"},
		"@wide.txt": {"text/plain wide.txt wide.txt: 日日日日日日\xe6\x97…",
			"note file: @wide.txt: only the first 102399 of its 120000 bytes are attached; name lines, like #L100-200, or read the rest with a tool"},
	} {
		first := r.expand(r.request(text))
		if first.Text != text {
			t.Errorf("%q became %q", text, first.Text)
		}
		if diff := cmp.Diff(want, r.shown(first)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if diff := cmp.Diff(first, r.expand(r.request(text))); diff != "" {
			t.Errorf("%q is another prompt the second time: %s", text, diff)
		}
	}
}

// TestExpandedIsAdmitted: whatever names a project has, what they expand to is a prompt.
func TestExpandedIsAdmitted(t *testing.T) {
	r := newRig(t, nil)
	long := strings.Repeat("ä", 120)
	for _, name := range []string{long + "/" + long + ".txt", "bad\u202ename", "line\u2028break", "tab\tname"} {
		r.write("project/"+name, "x")
	}
	for _, name := range []string{"a\x00b", "../../../../../../etc/shadow", "/proc/self/environ", strings.Repeat("../", 1000) + "x", strings.Repeat("a/", 2000),
		strings.Repeat("x", 3000), r.base + "/private/plinth.db", "/", "~", "~/x", long + "/" + long + ".txt", "bad\u202ename", "line\u2028break", "tab\tname"} {
		prompt := r.expand(r.request(`see @"` + name + `"`))
		if n := len(prompt.Files) + len(prompt.Notes); n != 1 {
			t.Errorf("%q: %d files and notes: %v", name, n, r.shown(prompt))
		}
		if err := session.CheckFiles(t.Context(), r.Log.Blobs(), prompt.Files); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := r.Sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: r.session.ID, Prompt: withoutFiles(prompt), AdmitOnly: true}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// withoutFiles is for a kernel that takes none.
func withoutFiles(prompt session.Prompt) session.Prompt {
	prompt.Files = nil
	return prompt
}

// TestPrivateIsNotRead: also where the rules allow everything outside.
func TestPrivateIsNotRead(t *testing.T) {
	r := newRig(t, []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}})
	got := r.shown(r.expand(r.request("@../outside/other.txt @../private/plinth.db @../outside")))
	want := []string{"text/plain /outside/other.txt", "text/plain /outside/", "failed file: @../private/plinth.db"}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(strings.ReplaceAll(got[i], r.base, ""), want[i]) {
			t.Fatalf("%v, want what begins like %v", got, want)
		}
	}
}

// TestAgentsAndReferencesHoldToTheRules of the agent that works.
func TestAgentsAndReferencesHoldToTheRules(t *testing.T) {
	r := newRig(t, []session.Rule{{Action: "external_directory", Resource: "*", Effect: session.Deny}})
	request := r.request("@explore @docs")
	request.Prompt.Agent = "lonely"
	want := []string{
		"failed agent: @explore could not be used: the agent explore cannot be given a task here: task on explore is denied by the permission rules",
		"failed reference: @docs could not be used: external_directory on /docs/* is denied by the permission rules",
	}
	if diff := cmp.Diff(want, r.shown(r.expand(request))); diff != "" {
		t.Error(diff)
	}
	request.Prompt.Agent = "unknown"
	request.Prompt.Text = "@main.go"
	if got := r.shown(r.expand(request)); len(got) != 1 || !strings.Contains(got[0], "denied") {
		t.Errorf("an agent that is not known reads %v", got)
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t, nil)
	for range 40 {
		name := "project/many/" + strings.Repeat("f", len(r.entries("project/many"))+1)
		r.write(name, "x")
	}
	var many, files strings.Builder
	for i := range session.MaxMentions + 1 {
		many.WriteString("@nobody" + strings.Repeat("x", i) + " ")
		files.WriteString("@many/" + strings.Repeat("f", i%40+1) + " ")
	}
	for text, want := range map[string]string{
		many.String():  "is mention 65 of the text, the limit is 64",
		files.String(): "@many/fffffffffffffffffffffffffffffffff is file 33 of the prompt, the limit is 32",
	} {
		_, err := r.expander.Expand(t.Context(), r.request(text))
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	image := append([]byte(png), bytes.Repeat([]byte{1}, 15<<20)...)
	for _, name := range []string{"1", "2", "3"} {
		r.write("project/"+name+".png", string(append(image, name...)))
	}
	r.write("project/huge.png", string(append(image, make([]byte, 6<<20)...)))
	_, err := r.expander.Expand(t.Context(), r.request("@1.png @2.png @3.png"))
	if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "with @3.png the files of the prompt have 47185971 bytes together, the limit is 41943040") {
		t.Error(err)
	}
	if got := r.shown(r.expand(r.request("@huge.png"))); len(got) != 1 || !strings.Contains(got[0], "bytes, the limit of one file is 20971520") {
		t.Error(got)
	}
}

func (r *rig) entries(name string) []os.DirEntry {
	entries, err := os.ReadDir(filepath.Join(r.base, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return entries
}

func TestListingIsBounded(t *testing.T) {
	r := newRig(t, nil)
	for i := range expand.MaxEntries + 5 {
		r.write("project/many/f"+strings.Repeat("0", i%7)+string(rune('a'+i%26))+strings.Repeat("1", i%11)+strings.Repeat("2", i/1001)+"_"+strings.Repeat("3", i%13), "x")
	}
	total := len(r.entries("project/many"))
	if total <= expand.MaxEntries {
		t.Fatalf("%d entries are no case", total)
	}
	prompt := r.expand(r.request("@many"))
	if n := strings.Count(r.blob(prompt.Files[0].Blob), "\n"); n != expand.MaxEntries+1 {
		t.Errorf("%d lines", n)
	}
	if len(prompt.Notes) != 1 || prompt.Notes[0].Failed {
		t.Errorf("%+v", prompt.Notes)
	}
}

// TestStrict: what cannot be expanded is an error then, before any command line runs.
func TestStrict(t *testing.T) {
	r := newRig(t, nil)
	request := r.request("@main.go @missing.go @nobody")
	request.Strict = true
	_, err := r.expander.Expand(t.Context(), request)
	if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "@missing.go could not be used: no such file or directory; @nobody could not") {
		t.Error(err)
	}
	request.Prompt.Text = "@main.go"
	r.expand(request)
}

// TestFilesThatWereSent: a path is read, a blob stays.
func TestFilesThatWereSent(t *testing.T) {
	r := newRig(t, nil)
	request := r.request("look")
	request.Prompt.Files = []session.PromptFile{{Blob: "b", Mime: "image/png"}, {Path: "main.go#L1"}, {Path: "missing"}}
	prompt := r.expand(request)
	if len(prompt.Files) != 2 || prompt.Files[0].Blob != "b" || prompt.Files[1].Name != "main.go#L1" || prompt.Files[1].Source != nil {
		t.Errorf("%+v", prompt.Files)
	}
	if len(prompt.Notes) != 1 || prompt.Notes[0].Kind != "file" {
		t.Errorf("%+v", prompt.Notes)
	}
}

// TestCommand: arguments, what a command line prints, and mentions of the template; its
// mentions are known by where they stand in the end.
func TestCommand(t *testing.T) {
	r := newRig(t, nil)
	request := r.request("")
	request.Command = &expand.Call{Name: "review", Arguments: "'src/a.go; @explore' @docs"}
	prompt := r.expand(request)
	if want := "Review src/a.go; @explore.\none\nsrc/a.go; @explore\nand @main.go"; prompt.Text != want {
		t.Errorf("%q", prompt.Text)
	}
	want := []string{"text/plain main.go main.go: package main\n\nfunc main() {\n}", "agent explore"}
	if diff := cmp.Diff(want, r.shown(prompt)); diff != "" {
		t.Error(diff)
	}
	if prompt.Agent != "worker" || prompt.Model == nil || prompt.Model.String() != "scripted/m2" || prompt.Variant != "high" {
		t.Errorf("%+v %+v %+v", prompt.Agent, prompt.Model, prompt.Variant)
	}
	request.Prompt.Agent, request.Prompt.Model = "build", &session.ModelRef{Provider: "p", Model: "m"}
	if prompt := r.expand(request); prompt.Agent != "build" || prompt.Model.Provider != "p" {
		t.Errorf("a command overrides what was chosen: %+v", prompt)
	}
	for want, request := range map[string]expand.Request{
		"there is no command \"x\"; known are review, fails": {Session: r.session, Command: &expand.Call{Name: "x"}},
		"text has no place beside a command":                 {Session: r.session, Command: &expand.Call{Name: "review"}, Prompt: session.Prompt{Text: "x"}},
		"command.arguments has 65537 bytes":                  {Session: r.session, Command: &expand.Call{Name: "review", Arguments: strings.Repeat("x", expand.MaxArguments+1)}},
		"command.arguments has a NUL":                        {Session: r.session, Command: &expand.Call{Name: "review", Arguments: "\x00"}},
	} {
		if _, err := r.expander.Expand(t.Context(), request); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCommandLinesHoldToTheRules: nothing runs that is denied, or that would be asked for
// where nobody is asked; a line that fails says so in its place.
func TestCommandLinesHoldToTheRules(t *testing.T) {
	for _, c := range []struct {
		effect session.Effect
		text   string
		notes  []string
		ran    bool
	}{
		{session.Allow, "half [exit code 1]", nil, true},
		{session.Deny, "half [exit code 1][not run: touch ran]", []string{"failed shell: The command touch ran failed: bash on touch ran is denied by the permission rules"}, false},
		{session.Ask, "half [exit code 1][not run: touch ran]", []string{"failed shell: The command touch ran failed: bash on touch ran was refused: it has to be asked for, and nobody is asked here"}, false},
	} {
		r := newRig(t, []session.Rule{{Action: "bash", Resource: "touch *", Effect: c.effect}})
		request := r.request("")
		request.Command = &expand.Call{Name: "fails"}
		prompt := r.expand(request)
		_, err := os.Stat(filepath.Join(r.base, "project", "ran"))
		if ran := err == nil; ran != c.ran || prompt.Text != c.text {
			t.Errorf("%s: ran %v, %q", c.effect, ran, prompt.Text)
		}
		if diff := cmp.Diff(c.notes, r.shown(prompt)); diff != "" {
			t.Errorf("%s: %s", c.effect, diff)
		}
	}
}

// TestCommandLinesAreAskedFor: all before the first one runs; the one that is refused is
// not run, and a caller that goes away leaves nothing.
func TestCommandLinesAreAskedFor(t *testing.T) {
	command := func(o *expand.Options) {
		o.Commands = []expand.Command{{Name: "two", Template: "!`touch first`!`touch second`"}}
	}
	for reply, want := range map[session.Reply]string{session.ReplyOnce: "", session.ReplyReject: "[not run: touch second]", "": ""} {
		r := newRig(t, []session.Rule{{Action: "bash", Resource: "touch second", Effect: session.Ask}}, command)
		request := r.request("")
		request.Command, request.Ask, request.Message = &expand.Call{Name: "two"}, true, r.Encoder.IDs.New(session.PrefixMessage)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type answer struct {
			prompt session.Prompt
			err    error
		}
		done := make(chan answer, 1)
		go func() {
			prompt, err := r.expander.Expand(ctx, request)
			done <- answer{prompt, err}
		}()
		r.Await(r.session.ID, session.PermissionAsked{}.EventType(), 1)
		open, err := r.Permissions.List(t.Context(), r.session.ID)
		if err != nil || len(open) != 1 {
			t.Fatalf("%+v, %v", open, err)
		}
		if open[0].Message != request.Message || open[0].Call != session.CallPrompt || !slices.Equal(open[0].Ask.Resources, []string{"touch second"}) {
			t.Errorf("%+v", open[0])
		}
		if n := len(r.touched()); n != 0 {
			t.Errorf("%d commands ran before permission was given", n)
		}
		if reply == "" {
			cancel()
		} else if _, err := r.Permissions.Reply(t.Context(), session.System(), open[0].Request, reply, ""); err != nil {
			t.Fatal(err)
		}
		got := <-done
		if (got.err != nil) != (reply == "") || got.prompt.Text != want {
			t.Errorf("%q: %q, %v", reply, got.prompt.Text, got.err)
		}
		if wants := map[session.Reply]int{session.ReplyOnce: 2, session.ReplyReject: 1}[reply]; len(r.touched()) != wants {
			t.Errorf("%q: %v were run", reply, r.touched())
		}
		if open, err := r.Permissions.List(t.Context(), r.session.ID); err != nil || len(open) != 0 {
			t.Errorf("%q: %+v stay open, %v", reply, open, err)
		}
	}
}

func (r *rig) touched() (names []string) {
	for _, entry := range r.entries("project") {
		if entry.Name() == "first" || entry.Name() == "second" {
			names = append(names, entry.Name())
		}
	}
	return names
}

// TestWhatACommandLinePrints is bounded, scrubbed and mentions nothing.
func TestWhatACommandLinePrints(t *testing.T) {
	r := newRig(t, nil, func(o *expand.Options) {
		o.LineTimeout = 1
		o.Commands = []expand.Command{{Name: "slow", Template: "!`sleep 60`"}}
	})
	request := r.request("")
	request.Command = &expand.Call{Name: "slow"}
	if got := r.expand(request); !strings.Contains(got.Text, "[It was stopped after 1ns.]") || len(got.Notes) != 1 || !got.Notes[0].Failed {
		t.Errorf("%q, %+v", got.Text, got.Notes)
	}
	r = newRig(t, nil, func(o *expand.Options) {
		o.Commands = []expand.Command{{Name: "prints", Template: "!`echo '@main.go hunter2 '; echo '~~~'`\n@src !`yes | head -n 50000` @main.go"}}
	})
	request = r.request("")
	request.Command = &expand.Call{Name: "prints"}
	got := r.expand(request)
	if len(got.Text) > 40<<10 || strings.Contains(got.Text, "hunter2") || !strings.Contains(got.Text, "/outputs/") {
		t.Errorf("%d bytes: %.300q", len(got.Text), got.Text)
	}
	if len(got.Files) != 2 || got.Files[0].Path != "src/" || got.Files[1].Path != "main.go" {
		t.Errorf("%v", r.shown(got))
	}
}

// TestGuidance: what is told of references that are there.
func TestGuidance(t *testing.T) {
	if _, ok := expand.NewGuidance([]expand.Reference{{Name: "a", Path: "/a"}}); ok {
		t.Error("references without a description have a source")
	}
	guidance, ok := expand.NewGuidance([]expand.Reference{{Name: "a", Path: "/a"}, {Name: "b", Path: "/b", Description: "bees"}, {Name: "c", Path: "/c", Description: "seas"}})
	if !ok {
		t.Fatal("no source")
	}
	states, err := guidance.Observe(t.Context(), session.Observation{})
	if err != nil || len(states) != 1 || states[0].Key != guidance.Keys()[0] || states[0].State != session.SourceValue {
		t.Fatalf("%+v, %v", states, err)
	}
	list := "\n- b: bees (/b)\n- c: seas (/c)"
	if !strings.HasSuffix(states[0].Baseline, list) || !strings.HasSuffix(states[0].Update, list) || states[0].Removed == "" || !json.Valid(states[0].Value) {
		t.Errorf("%+v", states[0])
	}
}
