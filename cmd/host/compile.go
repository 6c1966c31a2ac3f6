package main

import (
	"context"
	"os"
	"os/exec"
)

// compileCommand is what the program calls itself with to compile a plugin's module
// in a process of its own. It is no command for people.
const compileCommand = "compile-module"

// compiler makes that process. It has no environment: what is in ours is no
// business of a compiler that works on bytes of strangers.
func compiler(program string) func(ctx context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		child := exec.CommandContext(ctx, program, compileCommand)
		child.Env = []string{}
		child.Dir = os.TempDir()
		return child
	}
}
