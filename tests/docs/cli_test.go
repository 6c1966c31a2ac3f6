package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// command is one command as its help tells.
type command struct {
	path  string // "plinth token create"
	use   string
	short string
	flags [][]string
}

// TestCLI holds docs/reference/cli.md to what the program says of itself.
func TestCLI(t *testing.T) {
	all := table{head: []string{"command", "what it does"}}
	tables := map[string]table{}
	for _, c := range commands(t, "plinth", "") {
		if c.path != "plinth" {
			all.rows = append(all.rows, []string{code(c.use), c.short})
		}
		tables["flags of "+c.path] = table{head: []string{"flag", "value", "what it does"}, rows: c.flags}
	}
	tables["commands"] = all
	exits := table{head: []string{"exit code", "means"}, written: 1}
	for _, c := range constants(t, "cmd/host") {
		if named("exit")(c) {
			exits.rows = append(exits.rows, []string{c.value})
		}
	}
	tables["exit codes"] = exits
	hold(t, "docs/reference/cli.md", tables)
}

var (
	// subcommand is "  name   what it does" of a help.
	subcommand = regexp.MustCompile(`^  (\S+) {2,}(\S.*)$`)
	// flagLine is "  -s, --session string   what it does".
	flagLine = regexp.MustCompile(`^ +(?:(-\w), )?(--[\w-]+)(?: (\w+)(?:\[=[^]]*\])?)? {2,}(\S.*)$`)
)

// commands answers a command and all below it. Of completion, which is the library's,
// only itself.
func commands(t *testing.T, path, short string) []command {
	t.Helper()
	words := strings.Fields(path)
	help, err := exec.Command(program("plinth"), append(words[1:], "--help")...).Output()
	if err != nil {
		t.Fatalf("%s --help: %v", path, err)
	}
	c := command{path: path, short: short}
	below := []command{}
	section := ""
	for line := range strings.Lines(string(help)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			section = line
			continue
		}
		switch section {
		case "Usage:":
			if use := strings.TrimSpace(line); c.use == "" && use != "" {
				c.use = strings.TrimSuffix(use, " [flags]")
			}
		case "Available Commands:":
			if match := subcommand.FindStringSubmatch(line); match != nil && match[1] != "help" && path != "plinth completion" {
				below = append(below, commands(t, path+" "+match[1], match[2])...)
			}
		case "Flags:":
			if match := flagLine.FindStringSubmatch(line); match != nil && match[2] != "--help" {
				name := code(match[2])
				if match[1] != "" {
					name = code(match[1]) + ", " + name
				}
				c.flags = append(c.flags, []string{name, orNone(match[3]), match[4]})
			}
		}
	}
	if c.use == "" {
		t.Fatalf("the help of %s has no usage:\n%s", path, help)
	}
	return append([]command{c}, below...)
}
