package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
)

// builtPlugin is what plinth plugin build made.
type builtPlugin struct {
	Folder  string `json:"folder"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Command string `json:"command,omitempty"` // that built it; empty as it was built before
	TookNS  int64  `json:"took_ns"`           // of the command
	Digest  string `json:"digest,omitempty"`  // of the packed file; empty while goldens are to be recorded
	Bytes   int    `json:"bytes"`             // of the packed file
	// Missing are outputs of goldens that are still to be recorded.
	Missing []string `json:"missing,omitempty"`
}

func (c *cli) authorBuild() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "build [FOLDER]",
		Short: "Build a plugin by its own command and check what came out",
		Long: `Run the command build of [dev] in plugin.toml, in the plugin's folder, and hold the
module that it leaves to the manifest: there is one, it exports what is declared and
imports nothing that a host does not have. The compiler's output is shown as it is.
Nothing of the plugin runs, but its command does, with all that you may do: like make,
build, test and dev are for folders that you trust.`,
		Example: `  plinth plugin build ./weather`,
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			folder, manifest, err := authored(args)
			if err != nil {
				return err
			}
			built, err := c.build(command.Context(), folder, manifest)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(describeBuild(folder, built))
			}
			return c.tellBuild(built)
		},
	}
	jsonFlag(command, &asJSON)
	return command
}

// build builds a plugin; its compiler writes to the error output, which is not ours to
// read.
func (c *cli) build(ctx context.Context, folder string, manifest abi.Manifest) (build.Result, error) {
	built, err := build.Run(ctx, folder, manifest, c.errors)
	switch {
	case errors.Is(err, build.ErrNoCommand):
		return built, &exitError{exitUsage, err}
	case err != nil && ctx.Err() != nil:
		return built, ctx.Err()
	}
	return built, err
}

func describeBuild(folder string, built build.Result) builtPlugin {
	manifest := built.Candidate.Manifest
	described := builtPlugin{Folder: folder, ID: manifest.ID, Version: manifest.Version, TookNS: int64(built.Took),
		Digest: built.Candidate.Digest, Bytes: len(built.Candidate.Wasm), Missing: built.Missing}
	if built.Took > 0 {
		described.Command = manifest.Dev.Build
	}
	if len(built.Missing) > 0 {
		described.Digest = ""
	}
	return described
}

func (c *cli) tellBuild(built build.Result) error {
	took := ""
	if built.Took > 0 {
		took = "  built in " + briefly(built.Took)
	}
	_, err := fmt.Fprintf(c.out, "%s %s%s  %d bytes packed\n", built.Report.ID, built.Report.Version, took, built.Report.Bytes)
	for _, name := range built.Missing {
		fmt.Fprintf(c.errors, "%s is still to be recorded: plinth plugin test --update\n", oneLine(name, 200))
	}
	return err
}

// nativeTests is what came of the tests that run without Wasm.
type nativeTests struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
	Problem string `json:"problem,omitempty"`
	TookNS  int64  `json:"took_ns"`
}

// native runs the native tests; nil where there are none. With update they write what they
// compare.
func (c *cli) native(ctx context.Context, folder string, manifest abi.Manifest, update bool) (*nativeTests, error) {
	if manifest.Dev == nil || manifest.Dev.Test == "" {
		return nil, nil
	}
	var variables []string
	if update {
		variables = []string{variableUpdate + "=1"}
	}
	began := time.Now()
	err := build.Command(ctx, folder, build.KeyTest, manifest.Dev.Test, variables, c.errors)
	tests := &nativeTests{Command: manifest.Dev.Test, Passed: err == nil, TookNS: int64(time.Since(began))}
	if ctx.Err() != nil {
		return tests, ctx.Err()
	}
	if err != nil {
		tests.Problem = err.Error()
	}
	return tests, nil
}

// variableUpdate has native tests write what they compare.
const variableUpdate = "PLINTH_UPDATE"
