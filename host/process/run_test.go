package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
)

// all is an output that was kept whole.
func all(text string) Output { return Output{Head: text, Total: int64(len(text))} }

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(directory, "program")
	write(t, program, "#!/bin/sh\necho \"$0 $1\"\n", 0o700)
	path := map[string]string{"PATH": "relative:/nowhere:" + directory + ":/usr/bin:/bin"}
	for name, test := range map[string]struct {
		command Command
		want    Result
	}{
		"a line":                         {Command{Line: "echo one; echo two"}, Result{Output: all("one\ntwo\n")}},
		"an exit code":                   {Command{Line: "exit 42"}, Result{ExitCode: 42}},
		"a signal":                       {Command{Line: "kill -9 $$"}, Result{ExitCode: -1, Signal: "SIGKILL"}},
		"both streams in order":          {Command{Line: "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, Result{Output: all("1\n2\n3\n4\n")}},
		"both streams apart":             {Command{Line: "echo 1; echo 2 >&2; echo 3", Output: Capture{Apart: true}}, Result{Output: all("1\n3\n"), Errors: all("2\n")}},
		"a line like an option":          {Command{Line: "-x 2>/dev/null || echo no"}, Result{Output: all("no\n")}},
		"a program":                      {Command{Argv: []string{"echo", "$HOME  *", "`x`"}}, Result{Output: all("$HOME  * `x`\n")}},
		"a program by its path":          {Command{Argv: []string{program, "x"}}, Result{Output: all(program + " x\n")}},
		"a program in the directory":     {Command{Argv: []string{"./program", "x"}}, Result{Output: all("./program x\n")}},
		"a program of its own PATH":      {Command{Argv: []string{"program", "x"}, Environment: path}, Result{Output: all(program + " x\n")}},
		"the directory":                  {Command{Line: `pwd; echo "$PWD"`}, Result{Output: all(directory + "\n" + directory + "\n")}},
		"input":                          {Command{Line: "cat", Input: []byte("some\x00thing")}, Result{Output: all("some\x00thing")}},
		"more input than a pipe holds":   {Command{Line: "wc -c | tr -d ' '", Input: make([]byte, 300_000)}, Result{Output: all("300000\n")}},
		"input that nobody reads":        {Command{Line: "exit 3", Input: make([]byte, 300_000)}, Result{ExitCode: 3}},
		"no input":                       {Command{Line: "cat; read x || echo end"}, Result{Output: all("end\n")}},
		"what is not UTF-8":              {Command{Line: `printf 'a\377b\033[1mc'`}, Result{Output: Output{Head: "a\uFFFDb\033[1mc", Total: 8}}},
		"closes its outputs and goes on": {Command{Line: "exec 1>&- 2>&-; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 9"}, Result{ExitCode: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			test.command.Directory = directory
			result := run(t, newRunner(t, Options{}), test.command)
			if result.Duration <= 0 || result.Duration > time.Minute {
				t.Errorf("it took %v", result.Duration)
			}
			if diff := cmp.Diff(test.want, result, cmpopts.IgnoreFields(Result{}, "Duration")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShells(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{".profile", ".bashrc", ".bash_profile", ".bash_login", ".zshrc", ".zshenv", ".zprofile", ".kshrc", ".mkshrc", ".config/fish/config.fish"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(home, name), "echo started by "+name+"\n", 0o600)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("ENV", filepath.Join(home, ".profile"))
	t.Setenv("BASH_ENV", filepath.Join(home, ".bashrc"))
	tried := 0
	for _, name := range []string{"", "/bin/sh", "bash", "dash", "zsh", "ksh", "mksh", "fish"} {
		r, err := New(Options{Shell: name})
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.Kind == KindNotFound && name != "" && name != "/bin/sh" {
			continue // this machine has none
		}
		if err != nil {
			t.Fatal(err)
		}
		tried++
		if !filepath.IsAbs(r.Shell()) {
			t.Errorf("%q is %q", name, r.Shell())
		}
		result := run(t, r, Command{Line: "-x 2>/dev/null || echo $HOME"})
		if result.Output.Head != home+"\n" || result.ExitCode != 0 {
			t.Errorf("%q: %+v", r.Shell(), result)
		}
		r.Close()
	}
	if tried < 2 {
		t.Errorf("tried %d shells", tried)
	}
	if got := shellArgv("/opt/bin/elvish", "echo"); !cmp.Equal(got, []string{"elvish", "-c", "echo"}) {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	directory := t.TempDir()
	path := func(name string) string { return filepath.Join(directory, name) }
	write(t, path("text"), "no program\n", 0o600)
	write(t, path("empty"), "\x7fELF", 0o700)
	write(t, path("orphan"), "#!/nowhere/interpreter\n", 0o700)
	file, err := os.Open(path("text"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := func(change func(*Command)) Command {
		c := Command{Line: "echo ran", Directory: directory}
		change(&c)
		return c
	}
	argv := func(argv ...string) Command { return Command{Argv: argv, Directory: directory} }
	set := func(name, value string) Command {
		return line(func(c *Command) { c.Environment = map[string]string{name: value} })
	}
	for name, test := range map[string]struct {
		command Command
		kind    Kind
		text    string
	}{
		"nothing":              {Command{Directory: directory}, KindInvalid, "Line is empty"},
		"blanks":               {line(func(c *Command) { c.Line = " \n" }), KindInvalid, "Line is empty"},
		"both":                 {line(func(c *Command) { c.Argv = []string{"x"} }), KindInvalid, "give one of them"},
		"an empty program":     {argv(""), KindInvalid, "Argv[0] is empty"},
		"NUL in the line":      {line(func(c *Command) { c.Line = "echo \x00" }), KindInvalid, "Line has a NUL"},
		"NUL in an argument":   {argv("echo", "\x00"), KindInvalid, "Argv has a NUL"},
		"no directory":         {Command{Line: "x"}, KindInvalid, "Directory is missing"},
		"two directories":      {line(func(c *Command) { c.Handle = file }), KindInvalid, "Directory is given and Handle too"},
		"a relative directory": {line(func(c *Command) { c.Directory = "here" }), KindInvalid, `Directory is "here", which is relative`},
		"a missing directory":  {line(func(c *Command) { c.Directory = path("none") }), KindDirectory, "does not exist; create it"},
		"a file as directory":  {line(func(c *Command) { c.Directory = path("text") }), KindDirectory, "is not a directory"},
		"a file as handle":     {Command{Line: "x", Handle: file}, KindDirectory, "is not a directory"},
		"no such program":      {argv("no-such-program-here"), KindNotFound, "in no folder of PATH"},
		"no such path":         {argv(path("none")), KindNotFound, "was not found"},
		"no interpreter":       {argv(path("orphan")), KindNotFound, "interpreter"},
		"not executable":       {argv(path("text")), KindNotExecutable, "is it executable?"},
		"a folder":             {argv(directory), KindNotExecutable, "is it executable?"},
		"no program":           {argv(path("empty")), KindNotExecutable, "no program for this machine"},
		"too long":             {argv("echo", strings.Repeat("x", 8<<20)), KindInvalid, "longer than the system takes"},
		"a time":               {line(func(c *Command) { c.Timeout = -1 }), KindInvalid, "Timeout is -1ns; give a positive time"},
		"a head":               {line(func(c *Command) { c.Output.Head = -1 }), KindInvalid, "Output.Head is -1 bytes"},
		"a writer too many":    {line(func(c *Command) { c.Output.SaveErrors = os.Stdout }), KindInvalid, "set Output.Apart"},
		"a variable's name":    {set("A=B", ""), KindInvalid, `Environment has the name "A=B"`},
		"a variable's value":   {set("A", "\x00"), KindInvalid, "Environment[A] has a NUL"},
		"a start-up file":      {set("BASH_ENV", "x"), KindInvalid, "Environment[BASH_ENV] would make a shell read"},
		"an exported function": {set("BASH_FUNC_ls%%", "() { :; }"), KindInvalid, "would make a shell read"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := newRunner(t, Options{}).Run(t.Context(), test.command)
			refusal, ok := errors.AsType[*Error](err)
			if !ok || refusal.Kind != test.kind || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %s with %q", err, test.kind, test.text)
			}
			if !cmp.Equal(result, Result{}) {
				t.Errorf("a result: %+v", result)
			}
		})
	}
}

func TestRefusedOptions(t *testing.T) {
	for text, o := range map[string]Options{
		"Running is -1":                             {Running: -1},
		"Waiting is -2":                             {Waiting: -2},
		"Processes is -3":                           {Processes: -3},
		"Grace is -1":                               {Grace: -1},
		`Shell is "./sh", a relative path`:          {Shell: "./sh"},
		`Shell is "no-such-shell", which is no`:     {Shell: "no-such-shell"},
		`Inherit has "GH_TOKEN", which looks like`:  {Inherit: []string{"GH_TOKEN"}},
		`Inherit has "BASH_ENV", by which shells`:   {Inherit: []string{"BASH_ENV"}},
		`Inherit has "*"; give NAME or PREFIX_*`:    {Inherit: []string{"*"}},
		`Inherit has "A*B"; give NAME or PREFIX_*`:  {Inherit: []string{"A*B"}},
		`Inherit has "PLINTH_HOME", which looks li`: {Inherit: []string{"PLINTH_HOME"}},
	} {
		r, err := New(o)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestHandle(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "mark"), "found\n", 0o600)
	handle, err := os.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	r := newRunner(t, Options{})
	want, err := filepath.EvalSymlinks(directory)
	if err != nil {
		t.Fatal(err)
	}
	if result := run(t, r, Command{Line: `pwd -P; cat mark`, Handle: handle}); result.Output.Head != want+"\nfound\n" {
		t.Errorf("%+v", result)
	}
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(t.Context(), Command{Line: "echo ran", Handle: handle})
	if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Kind != KindDirectory {
		t.Errorf("a removed directory: %v", err)
	}
}

func TestProgramGetsNoDescriptor(t *testing.T) {
	// As a C library or whoever started the host may leave one.
	leaked, err := unix.FcntlInt(1, unix.F_DUPFD, 50)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	result := run(t, newRunner(t, Options{}), Command{Argv: []string{"ls", "/dev/fd"}})
	open := strings.Fields(result.Output.Head)
	if !slices.Contains(open, "2") || slices.Contains(open, strconv.Itoa(leaked)) || len(open) > 5 { // ls opens one or two
		t.Errorf("open: %q, leaked %d", open, leaked)
	}
}

func TestClose(t *testing.T) {
	r := newRunner(t, Options{Running: 1})
	results := make(chan Result, 2)
	ready := make(chan struct{})
	for i, line := range []string{"echo ready; exec sleep 3600", "echo never"} {
		go func() {
			c := Command{Line: line, Directory: "/", Progress: func(Progress) { close(ready) }}
			result, err := r.Run(context.Background(), c)
			if refusal, ok := errors.AsType[*Error](err); i == 1 && (!ok || refusal.Kind != KindClosed) {
				t.Errorf("the one that waited: %v", err)
			}
			results <- result
		}()
		if i == 0 {
			<-ready
		}
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	first, second := <-results, <-results
	if stopped := first.Stopped + second.Stopped; stopped != Cancelled {
		t.Errorf("stopped: %q", stopped)
	}
	if _, err := r.Run(t.Context(), Command{Line: "echo ran", Directory: "/"}); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
}
