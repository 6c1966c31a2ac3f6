package shell

import (
	"path"
	"slices"
	"strings"
)

// interpreter is a sort of programs that run programs: which one, the arguments
// say.
type interpreter struct {
	names    []string
	inline   []string // options whose value is the program, or that run none
	values   []string // other options with a value
	operands int      // how many arguments it takes not to read its input
}

// interpreters are those that read a program from their input when the arguments
// do not name one.
var interpreters = []interpreter{
	{
		names: []string{"python", "python2", "python3", "pypy", "pypy3"}, operands: 1,
		inline: []string{"-c", "-m", "-V", "--version", "--help"}, values: []string{"-W", "-X"},
	},
	{
		names: []string{"node", "nodejs", "bun", "deno", "tsx", "ts-node"}, operands: 1,
		inline: []string{"-e", "-p", "-pe", "--eval", "--print", "-v", "--version", "--help"}, values: []string{"-r", "--require", "--import"},
	},
	{
		names: []string{"perl"}, operands: 1,
		inline: []string{"-e", "-E", "-ne", "-pe", "-lne", "-lpe", "-v", "--version", "--help"}, values: []string{"-I", "-M", "-m"},
	},
	{names: []string{"ruby"}, operands: 1, inline: []string{"-e", "-ne", "-pe", "-v", "--version", "--help"}, values: []string{"-I", "-r", "-C"}},
	{names: []string{"php"}, operands: 1, inline: []string{"-r", "-v", "--version", "--help", "-m", "-i"}, values: []string{"-d", "-c"}},
	{names: []string{"lua", "luajit", "julia", "R", "Rscript", "osascript"}, operands: 1, inline: []string{"-e", "-E", "-v", "--version", "--help"}, values: []string{"-l"}},
	{names: []string{"tclsh", "irb", "ghci", "m4"}, operands: 1},
	{names: []string{"sqlite3"}, operands: 2, inline: []string{"-version", "-help"}, values: []string{"-cmd", "-separator"}},
	{names: []string{"psql", "mysql", "mariadb"}, operands: 99, inline: []string{"-c", "-e", "--command", "--execute", "-l", "--version", "--help"}},
	{names: []string{"ed", "ex", "ftp", "sftp"}, operands: 99, inline: []string{"--version", "--help"}},
}

// interpreter reports a program that is read from the input of its interpreter.
func (s *scan) interpreter(words []word) {
	for _, i := range interpreters {
		if slices.Contains(i.names, path.Base(words[0].text)) && i.readsInput(words[1:]) {
			s.unknown(UnknownCommand, text(words), inputScript)
		}
	}
}

// readsInput says whether arguments do not name what is run.
func (i interpreter) readsInput(arguments []word) bool {
	operands := 0
	for at := 0; at < len(arguments) && operands < i.operands; at++ {
		name, _, attached := strings.Cut(arguments[at].text, "=")
		switch {
		case !arguments[at].static && arguments[at].many, name == "-":
			return true
		case slices.Contains(i.inline, name):
			return false
		case slices.Contains(i.values, name) && !attached:
			at++
		case !strings.HasPrefix(name, "-"):
			operands++
		}
	}
	return operands < i.operands
}
