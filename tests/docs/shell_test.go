package docs

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/tests/chat"
	"github.com/plinthhost/plinth/tests/toolchains"
)

// A page with a block marked "sh test" is worked through as a reader would, from top
// to bottom in a home of its own:
//
//	sh test              runs, with the variables and the folder the block before left
//	sh test exit=4       ends with that code
//	sh test needs=rust   likewise, and the page has that compiler on its PATH and no other
//	sh test name=host    runs beside the others to the page's end, and ends well then
//	text output          is what the block before wrote; of another, output=host
//	text stop=host       interrupts it before the end
//	go file=main.go      is written to that file, whatever the language
//	go in=../x/main.go   stands in that file of the repository, word for word
//
// Lines of the host's log are left out of outputs. In an output "…" stands for any
// text of a line, and on a line of its own for any lines. The model server at port 8080,
// the host's port 4747 and the port 8090 of a page's own server stand for those of the
// test.
//
// A page begins in a checkout, ~/plinth.
func TestPagesWork(t *testing.T) {
	worked := 0
	for _, name := range pages(t) {
		p := readPage(t, name)
		for _, b := range p.blocks {
			if b.values["in"] != "" {
				quoted(t, p, b)
			}
		}
		if worksThrough(p) && p.needs() == "" {
			worked++
			p.work(t)
		}
	}
	if worked < 5 {
		t.Errorf("only %d pages have blocks to run", worked)
	}
}

// A page that needs a compiler is worked through when -toolchains names it, and begins in the
// home: it has no checkout.
func TestPagesForAuthorsWork(t *testing.T) {
	for language := range strings.SplitSeq(*compilers, ",") {
		worked := 0
		for _, name := range pages(t) {
			if p := readPage(t, name); p.needs() == language {
				worked++
				p.work(t)
			}
		}
		if worked == 0 {
			t.Errorf("no page is for authors with the compiler of %q; there are those of %v", language, scaffold.Languages())
		}
	}
}

// work works through the page, beside others.
func (p page) work(t *testing.T) {
	t.Run(strings.TrimSuffix(filepath.Base(p.name), ".md"), func(t *testing.T) {
		t.Parallel()
		newTerminal(t, p).work()
	})
}

// freeAddress is an address of this machine that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// needs is the language whose compiler the page works with; empty for none.
func (p page) needs() string {
	for _, b := range p.blocks {
		if language := b.values["needs"]; language != "" {
			return language
		}
	}
	return ""
}

func worksThrough(p page) bool {
	for _, b := range p.blocks {
		if b.is("test") {
			return true
		}
	}
	return false
}

// quoted holds a block to the file it is from.
func quoted(t *testing.T, p page, b block) {
	t.Helper()
	name := filepath.Join(root, filepath.Dir(p.name), b.values["in"])
	content, err := os.ReadFile(name)
	if err != nil {
		t.Errorf("%s:%d: %v", p.name, b.line, err)
		return
	}
	if !strings.Contains(string(content), strings.TrimSuffix(b.text, "\n")) {
		t.Errorf("%s:%d: the block is not in %s", p.name, b.line, b.values["in"])
	}
}

// terminal works through one page.
type terminal struct {
	t     *testing.T
	page  page
	home  *home
	model *chat.Server
	own   string // address of the page's own server, if it has one
	// address of the host that runs beside, without scheme; empty before.
	address string
	beside  map[string]*beside
	last    string // what the block before wrote
}

func newTerminal(t *testing.T, p page) *terminal {
	t.Helper()
	model, err := chat.Start(chat.Say("I am the model of the test."), chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, page: p, home: newHome(t), model: model, own: freeAddress(t), beside: map[string]*beside{}}
	begin := s.home.path("plinth")
	if language := p.needs(); language != "" {
		machine := toolchains.New(t, language)
		s.home.environ = append(append(s.home.environ, machine.Environ...), "PATH="+programs+":"+machine.Path)
		begin = s.home.folder
	} else if err := os.Symlink(checkout, begin); err != nil {
		t.Fatal(err)
	}
	s.write(s.home.path(".folder"), begin)
	s.write(s.home.path(".variables"), "")
	t.Cleanup(s.end)
	return s
}

// work goes through the blocks.
func (s *terminal) work() {
	for _, b := range s.page.blocks {
		switch {
		case b.is("test") && b.values["name"] != "":
			s.start(b)
		case b.is("test"):
			s.run(b)
		case b.is("output"):
			s.compare(b, s.last)
		case b.values["output"] != "":
			s.await(b)
		case b.values["stop"] != "":
			s.stop(b.values["stop"])
		case b.values["file"] != "":
			s.file(b)
		}
		if s.t.Failed() {
			return
		}
	}
}

func (s *terminal) fail(b block, format string, args ...any) {
	s.t.Helper()
	s.t.Errorf(s.page.name+":%d: "+format, append([]any{b.line}, args...)...)
}

// local puts the test's addresses in the place of those of the page.
func (s *terminal) local(text string) string {
	text = strings.ReplaceAll(text, "http://127.0.0.1:8080", strings.TrimSuffix(s.model.URL, "/v1"))
	text = strings.ReplaceAll(text, "127.0.0.1:8090", s.own)
	if s.address != "" {
		text = strings.ReplaceAll(text, "127.0.0.1:4747", s.address)
	}
	return text
}

// script is a block between reading and keeping the variables and the folder.
func (s *terminal) script(b block) string {
	return `cd "$(cat "$HOME/.folder")"; . "$HOME/.variables"
set -a
keep() { code=$?; set +e; export -p >"$HOME/.variables"; pwd >"$HOME/.folder"; exit $code; }
trap keep EXIT
set -e
` + s.local(b.text)
}

// run runs a block to its end.
func (s *terminal) run(b block) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "sh", "-c", s.script(b))
	command.Env = s.home.environ
	output, err := command.CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	s.last = string(output)
	want := b.values["exit"]
	if want == "" {
		want = "0"
	}
	if got := command.ProcessState.ExitCode(); strconv.Itoa(got) != want {
		s.fail(b, "exit %d, want %s\n%s", got, want, output)
	}
}

// file writes a block to its file, inside the home and outside of the checkout.
func (s *terminal) file(b block) {
	s.t.Helper()
	name := b.values["file"]
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = s.home.path(rest)
	} else {
		folder, err := os.ReadFile(s.home.path(".folder"))
		if err != nil {
			s.t.Fatal(err)
		}
		name = filepath.Join(strings.TrimSpace(string(folder)), name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		s.t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil || !strings.HasPrefix(folder+"/", s.home.folder+"/") {
		s.fail(b, "%s is not in the home (%v)", name, err)
		return
	}
	s.write(name, s.local(b.text))
}

func (s *terminal) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// compare holds an output to what the page shows.
func (s *terminal) compare(b block, output string) {
	s.t.Helper()
	if !fits(s.local(b.text), output) {
		s.fail(b, "the output is\n%s\nthe page shows\n%s", output, b.text)
	}
}

// logLine is a line of the host's log. How much of it there is depends on the level,
// and the pages do not show it.
var logLine = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\S+ \[[A-Z]+\] .*\n`)

// fits reports whether an output is what a page shows.
func fits(shown, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(strings.TrimRight(shown, "\n") + "\n") {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `.*`) + ` *\n`)
	}
	pattern.WriteString(`\z`)
	output = strings.TrimRight(logLine.ReplaceAllString(output, ""), "\n") + "\n"
	return regexp.MustCompile(pattern.String()).MatchString(output)
}

// beside is a program that runs beside the blocks.
type beside struct {
	command *exec.Cmd

	mu     sync.Mutex
	output bytes.Buffer
	grown  chan struct{} // has an element when the output has grown
}

// Write takes the program's output.
func (p *beside) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.grown <- struct{}{}:
	default:
	}
	return p.output.Write(data)
}

func (p *beside) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// start starts a program beside. Its group is its own, so that ending it ends all.
func (s *terminal) start(b block) {
	s.t.Helper()
	p := &beside{command: exec.Command("sh", "-c", s.script(b)), grown: make(chan struct{}, 1)}
	p.command.Env, p.command.Stdout, p.command.Stderr = s.home.environ, p, p
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.beside[b.values["name"]] = p
}

// patience is how long a program beside may take to say what the page shows.
const patience = 15 * time.Second

// await waits until a program beside has said what the page shows.
func (s *terminal) await(b block) {
	s.t.Helper()
	p := s.beside[b.values["output"]]
	if p == nil {
		s.fail(b, "nothing of the name %q runs beside", b.values["output"])
		return
	}
	late := time.After(patience)
	for {
		if address := addressIn(p.text()); address != "" {
			s.address = strings.TrimPrefix(address, "http://")
		}
		if fits(s.local(b.text), p.text()) {
			return
		}
		select {
		case <-p.grown:
		case <-late:
			s.compare(b, p.text())
			return
		}
	}
}

// end interrupts what runs beside.
func (s *terminal) end() {
	for name := range s.beside {
		s.stop(name)
	}
}

// stop interrupts what runs beside, as Ctrl-C would.
func (s *terminal) stop(name string) {
	p := s.beside[name]
	if p == nil {
		s.t.Errorf("%s: nothing of the name %q runs beside", s.page.name, name)
		return
	}
	delete(s.beside, name)
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGINT)
	if err := p.command.Wait(); err != nil && !interrupted(err) {
		s.t.Errorf("%s: %s ended with %v\n%s", s.page.name, name, err, p.text())
	}
}

// interrupted reports whether the shell itself went with the interrupt.
func interrupted(err error) bool {
	var exited *exec.ExitError
	if !errors.As(err, &exited) {
		return false
	}
	status, ok := exited.Sys().(syscall.WaitStatus)
	return ok && (status.Signal() == syscall.SIGINT || status.ExitStatus() == 128+int(syscall.SIGINT))
}

func TestOutputsAreCompared(t *testing.T) {
	for _, c := range []struct {
		shown, output string
		want          bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "a\n\n", true},
		{"a\n", "b\n", false},
		{"a\n", "a\nb\n", false},
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a\nc\n", false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\n", "a\n", true},
		{"a.b\n", "axb\n", false},
		{"a\nb\n", "a\n2026-11-21T06:01:46.230Z [WARN]  plinth: c\nb\n", true},
	} {
		if got := fits(c.shown, c.output); got != c.want {
			t.Errorf("%q and %q: %v", c.shown, c.output, got)
		}
	}
}
