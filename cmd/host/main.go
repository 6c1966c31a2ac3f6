// Command host is plinth: the host, and the command line that talks to it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// version is stamped by the build.
var version = "unversioned"

func main() {
	if len(os.Args) == 2 && os.Args[1] == compileCommand {
		os.Exit(wasm.Compile(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	c := &cli{in: os.Stdin, out: os.Stdout, errors: os.Stderr, environ: os.Environ(), patience: 30 * time.Second}
	if program, err := os.Executable(); err == nil {
		c.compiler = compiler(program)
	}
	os.Exit(c.execute(ctx, os.Args[1:]))
}

// execute runs one command line and answers the exit code.
func (c *cli) execute(ctx context.Context, args []string) int {
	root := c.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(c.errors, "plinth:", explain(err))
	}
	return exitCode(err)
}
