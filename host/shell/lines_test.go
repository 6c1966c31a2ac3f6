package shell_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/shell"
)

var update = flag.Bool("update", false, "write the golden files anew")

var options = shell.Options{Directory: "/home/me/project", Home: "/home/me"}

// TestLines holds testdata/lines.txt: many real command lines with what is said
// of each.
func TestLines(t *testing.T) {
	file := filepath.Join("testdata", "lines.txt")
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written := rewrite(string(golden))
	if *update {
		if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(golden), written); diff != "" {
		t.Errorf("what Parse says is not what the file says (-file +now); if it is right, run go test -update\n%s", diff)
	}
	if len(corpus(t)) < 200 {
		t.Errorf("only %d lines were read", len(corpus(t)))
	}
}

// rewrite answers the golden file with what Parse says now.
func rewrite(golden string) string {
	var b strings.Builder
	lines := strings.SplitAfter(golden, "\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "$ "):
			b.WriteString(lines[i])
			text := strings.TrimPrefix(lines[i], "$ ")
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
				i++
				b.WriteString(lines[i])
				text += strings.TrimPrefix(lines[i], "> ")
			}
			b.WriteString(show(shell.Parse(strings.TrimSuffix(text, "\n"), options)))
		case !strings.HasPrefix(lines[i], "    "):
			b.WriteString(lines[i])
		}
	}
	return b.String()
}

// show writes down what is said of a line.
func show(line *shell.Line) string {
	var b strings.Builder
	for _, command := range line.Commands {
		more := ""
		if !command.Exact {
			more = " …"
		}
		save := command.Pattern
		if save == "" {
			save = "only once"
		}
		fmt.Fprintf(&b, "    run      %s%s    [%s]\n", indent(command.Text), more, indent(save))
	}
	for _, path := range line.Paths {
		fmt.Fprintf(&b, "    %-8s %s\n", path.Access, path.Path)
	}
	for _, unknown := range line.Unknown {
		fmt.Fprintf(&b, "    unknown  %s %s: %s\n", unknown.Kind, indent(unknown.Text), unknown.Reason)
	}
	return b.String()
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n             ") }

// corpus are the lines of the golden file.
func corpus(t testing.TB) []string {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join("testdata", "lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.SplitSeq(string(golden), "\n") {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			found = append(found, text)
		} else if text, ok := strings.CutPrefix(line, "> "); ok {
			found[len(found)-1] += "\n" + text
		}
	}
	return found
}
