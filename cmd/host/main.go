// Command host is plinth: the host, and the command line that talks to it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is stamped by the build.
var version = "unversioned"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := &cli{in: os.Stdin, out: os.Stdout, errors: os.Stderr, environ: os.Environ()}
	code := c.execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// execute runs one command line and answers the exit code.
func (c *cli) execute(ctx context.Context, args []string) int {
	root := c.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(c.errors, "plinth:", plain(err.Error()))
	}
	return exitCode(err)
}
