package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
)

func (c *cli) replayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay FILE [PLUGIN]",
		Short: "Make a recorded call again, offline, and show what differs",
		Long: "Makes a recorded call again, offline: what the plugin asks of the host is answered from the file.\n" +
			"Without PLUGIN, a folder or a packed module, it is the recorded module, looked for among the builtin\n" +
			"and the configured plugins and those that were added. Another revision may be given to see whether\n" +
			"it answers the same.",
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.replay(command.Context(), args[0], args[1:])
		},
	}
}

func (c *cli) replay(ctx context.Context, file string, revision []string) error {
	recording, err := replay.Read(file)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	loaded, err := c.load()
	if err != nil {
		return err
	}
	candidate, err := recorded(recording, loaded, revision)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	report, err := c.repeat(ctx, recording, candidate)
	if divergence, ok := errors.AsType[*replay.Divergence](err); ok {
		fmt.Fprintln(c.out, divergence)
		return &exitError{exitFailed, errors.New("the plugin asked for something else than recorded")}
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, report)
	if !report.Equal() {
		return &exitError{exitFailed, errors.New("the call came out differently")}
	}
	return nil
}

// repeat makes the call in an engine of its own.
func (c *cli) repeat(ctx context.Context, recording *replay.Recording, candidate plugin.Candidate) (report replay.Report, err error) {
	engine, err := c.authorEngine()
	if err != nil {
		return report, err
	}
	report, err = replay.Replay(ctx, engine, wasm.Spec{Wasm: candidate.Wasm, CheckInit: bridge.CheckInit, Builtin: candidate.Builtin}, recording)
	return report, errors.Join(err, engine.Close())
}

// recorded finds the plugin that a recording is of, or the revision that is given.
func recorded(recording *replay.Recording, loaded config.Config, revision []string) (plugin.Candidate, error) {
	if len(revision) == 1 {
		return given(revision[0])
	}
	var candidates []plugin.Candidate
	for _, b := range builtin.All() {
		candidate, err := plugin.Packed("builtin "+b.ID, b.Wasm, true)
		if err != nil {
			return plugin.Candidate{}, err
		}
		candidates = append(candidates, candidate)
	}
	for _, folder := range loaded.Plugins.Folders {
		found, _ := plugin.Folder(folder)
		candidates = append(candidates, found...)
	}
	for _, candidate := range candidates {
		if candidate.Digest == recording.Module {
			return candidate, nil
		}
	}
	packed, err := depot.LookInto(filepath.Join(loaded.Data, pluginsFolder)).Get(recording.Module)
	switch {
	case errors.Is(err, depot.ErrNotFound):
		return plugin.Candidate{}, fmt.Errorf("the recorded revision of %s (module %.12s…) is neither builtin nor in one of plugins.folders, and is not among what was added to %s; name its folder or file",
			oneLine(recording.Plugin, 140), oneLine(recording.Module, 64), loaded.Data)
	case err != nil:
		return plugin.Candidate{}, err
	}
	return plugin.Packed(oneLine(recording.Plugin, 140), packed, false)
}

// given loads a plugin's folder or its packed module, as somebody named it.
func given(path string) (plugin.Candidate, error) {
	if path == "" {
		return plugin.Candidate{}, &exitError{exitUsage, errors.New("the path of the plugin is empty; name a packed file, or the folder of one")}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return plugin.Candidate{}, &exitError{exitUsage, err}
	}
	candidate, err := plugin.At(absolute)
	if err != nil {
		return plugin.Candidate{}, &exitError{exitUsage, err}
	}
	return candidate, nil
}
