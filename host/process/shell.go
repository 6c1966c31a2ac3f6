package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// findShell answers the absolute path of the shell the user names, or of the
// default one.
func findShell(name string) (string, error) {
	switch {
	case name == "":
		if path, err := exec.LookPath("bash"); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
		name = "/bin/sh"
	case !filepath.IsAbs(name) && strings.Contains(name, "/"):
		return "", invalid("Shell", "is %s, a relative path; give an absolute path or a name", quote(name))
	}
	path, err := exec.LookPath(name)
	if err != nil || !filepath.IsAbs(path) {
		return "", &Error{Kind: KindNotFound, Field: "Shell", Text: fmt.Sprintf("is %s, which is no program; give the name or the absolute path of one", quote(name))}
	}
	return path, nil
}

// shellArgv is how a shell is asked to run a line and no start-up file. The line
// may begin with a hyphen.
func shellArgv(shell, line string) []string {
	name := filepath.Base(shell)
	switch name {
	case "bash":
		return []string{name, "--noprofile", "--norc", "-c", "--", line}
	case "zsh":
		return []string{name, "-f", "-c", "--", line}
	case "fish":
		return []string{name, "--no-config", "-c", line}
	case "sh", "dash", "ash", "ksh", "mksh":
		return []string{name, "-c", "--", line}
	}
	return []string{name, "-c", line}
}

// findProgram answers the path of a program by the command's own PATH. A relative
// entry of PATH names no program.
func findProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var found string
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		program := filepath.Join(folder, name)
		info, err := os.Stat(program)
		if err != nil || info.IsDir() {
			continue
		}
		if unix.Access(program, unix.X_OK) == nil {
			return program, nil
		}
		found = program
	}
	if found != "" {
		return "", &Error{Kind: KindNotExecutable, Field: "Argv[0]", Text: fmt.Sprintf("is %s, a file that may not be run by the host's user", quote(found))}
	}
	return "", &Error{Kind: KindNotFound, Field: "Argv[0]", Text: fmt.Sprintf("is %s, which is in no folder of PATH", quote(name))}
}
