package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/golden"
)

// testedPlugin is what plinth plugin test --json prints.
type testedPlugin struct {
	Plugin  builtPlugin     `json:"plugin"`
	Native  *nativeTests    `json:"native,omitempty"`
	Goldens []golden.Result `json:"goldens"`
	Passed  bool            `json:"passed"`
}

// testRun says how a plugin is tested.
type testRun struct{ update, asBuilt, asJSON bool }

func (c *cli) authorTest() *cobra.Command {
	var how testRun
	command := &cobra.Command{
		Use:   "test [FOLDER]",
		Short: "Build a plugin, run its native tests and its goldens",
		Long: `Build a plugin, run its native tests by the command test of [dev], and run its goldens
in the very engine that serves it, each twice on one instance: the answer and what it
asks of the host have to be the recorded ones. Shown are the time of a call, its fuel
and the memory of the instance. It ends with 1 when something does not pass.
With --update the native tests run first, with PLINTH_UPDATE=1, and answers that are not
the recorded ones, or not recorded yet, are written into the goldens' output files.`,
		Example: `  plinth plugin test ./weather
  plinth plugin test --update`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error { return c.test(command.Context(), args, how) },
	}
	command.Flags().BoolVar(&how.update, "update", false, "write what is answered now into the goldens, and what native tests compare")
	command.Flags().BoolVar(&how.asBuilt, "as-built", false, "do not build; test the module that is there")
	jsonFlag(command, &how.asJSON)
	return command
}

func (c *cli) test(ctx context.Context, args []string, how testRun) error {
	folder, manifest, err := authored(args)
	var tested testedPlugin
	if how.update && manifest.Schema == 1 { // the tests may write what the manifest misses
		var failed error
		if tested.Native, failed = c.native(ctx, folder, manifest, true); failed != nil {
			return failed
		}
		if tested.Native != nil {
			folder, manifest, err = authored([]string{folder})
		}
	}
	if err != nil {
		return err
	}
	built, err := c.built(ctx, folder, manifest, how.asBuilt)
	if err != nil {
		return err
	}
	if !how.update {
		if tested.Native, err = c.native(ctx, folder, manifest, false); err != nil {
			return err
		}
	}
	if tested.Goldens, err = c.goldens(ctx, folder, built, how.update); err != nil {
		return err
	}
	if how.update {
		if built, err = looked(built); err != nil {
			return err
		}
	}
	tested.Plugin = describeBuild(folder, built)
	tested.Passed = golden.Passed(tested.Goldens) && (tested.Native == nil || tested.Native.Passed)
	if how.asJSON {
		err = c.printJSON(tested)
	} else {
		err = c.tellTests(built, tested)
	}
	if err == nil && !tested.Passed {
		err = &exitError{exitFailed, errors.New("the plugin does not pass its tests")}
	}
	return err
}

// built builds a plugin, or takes it as it is.
func (c *cli) built(ctx context.Context, folder string, manifest abi.Manifest, asBuilt bool) (build.Result, error) {
	if asBuilt {
		return build.Look(folder)
	}
	return c.build(ctx, folder, manifest)
}

// looked is what was built, with the goldens that were written since.
func looked(built build.Result) (build.Result, error) {
	again, err := build.Look(built.Candidate.Origin)
	again.Took = built.Took
	return again, err
}

// goldens runs the goldens in an engine of its own.
func (c *cli) goldens(ctx context.Context, folder string, built build.Result, update bool) (results []golden.Result, err error) {
	engine, err := c.authorEngine()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if update {
		return golden.Update(ctx, engine, folder, built)
	}
	return golden.Run(ctx, engine, built)
}

func (c *cli) tellTests(built build.Result, tested testedPlugin) error {
	if err := c.tellBuild(built); err != nil {
		return err
	}
	if native := tested.Native; native != nil {
		verdict := "ok   "
		if !native.Passed {
			verdict = "FAIL "
		}
		fmt.Fprintf(c.out, "%s native tests  %s\n", verdict, briefly(time.Duration(native.TookNS)))
		if native.Problem != "" {
			fmt.Fprintf(c.out, "      %s\n", oneLine(native.Problem, 1000))
		}
	}
	tellGoldens(c.out, tested.Goldens)
	return nil
}
